"""Train short, test long: tiny models with any encoding, trained while one looks on."""

from posviz.ui import frame, train_short

frame.open_page("Train short, test long")
train_short.show()
