"""The only place that knows Streamlit: page frame, controls from declarations, the live board."""
