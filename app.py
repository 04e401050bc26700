"""PosViz: the home page, and the server that shows it.

``streamlit run app.py`` imports this file once for the server, and runs it as ``__main__`` for
every visit to the home page.
"""

if __name__ == "__main__":
    from posviz.ui import frame, home

    frame.open_page("Positional encodings, computed, proved and shown")
    home.show()
else:
    import streamlit as st

    from posviz.ui import server

    app = st.App(__file__, routes=server.routes())
