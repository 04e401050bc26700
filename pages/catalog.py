"""Every encoding in one table."""

from posviz.ui import catalog_page, frame

frame.open_page("Catalog")
catalog_page.show()
