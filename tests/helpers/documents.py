"""The page of a report as a document: its elements, and the contents that its scripts read."""

import json
from html.parser import HTMLParser

VOID = {"meta", "link", "input", "br", "img", "hr"}


class Document(HTMLParser):
    """Elements in their order, as tag, attributes and the text directly inside; all are closed in turn."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.elements, self.open = [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert len(attrs) == len(dict(attrs)), (tag, attrs)
        element = [tag, dict(attrs), ""]
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        if self.open:
            self.open[-1][2] += data

    def all(self, tag, **attributes):
        return [
            (found, text)
            for name, found, text in self.elements
            if name == tag and all(found.get(key) == value for key, value in attributes.items())
        ]


def data_of(page):
    ((_, text),) = Document(page).all("script", id="contents")
    return json.loads(text)
