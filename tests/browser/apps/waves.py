"""A page of waves as the app's own pages are made: with a session, and a route beside it."""

import streamlit as st

if __name__ == "__main__":
    import waves_desk

    from posviz.ui import exchange, live

    @st.fragment
    def show() -> None:
        session = st.session_state.setdefault("waves", exchange.Session(waves_desk.View()))
        request = live.last_request("board") or {}
        reply = exchange.answer(waves_desk.DESK, session, request)
        live.board(live.pack(reply, known=request.get("known", ())), key="board")

    st.set_page_config(page_title="Waves", layout="wide")
    show()
else:
    from posviz.ui import server

    server._DESKS["waves"] = "waves_desk"
    app = st.App(__file__, routes=server.routes())
