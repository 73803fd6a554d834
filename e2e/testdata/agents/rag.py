# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""A program that builds an index of its own vectors, searches it, and asks a model with what it found: LangChain, as it is."""
import os

from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import VectorStore
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from openinference.instrumentation.langchain import LangChainInstrumentor

from common import BASE_URL, OUT, QUESTIONS, provider


class Store(VectorStore):
    """The smallest store: that of LangChain wants numpy."""

    def __init__(self, embedding):
        self.embedding, self.rows = embedding, []

    @classmethod
    def from_texts(cls, texts, embedding, metadatas=None, **kwargs):
        store = cls(embedding)
        store.rows = list(zip(embedding.embed_documents(texts), texts))
        return store

    def similarity_search(self, query, k=4, **kwargs):
        asked = self.embedding.embed_query(query)
        near = sorted(self.rows, key=lambda row: -sum(a * b for a, b in zip(asked, row[0])))
        return [Document(page_content=text) for _, text in near[:k]]


LangChainInstrumentor().instrument(tracer_provider=provider)
vectors = OpenAIEmbeddings(model="text-embedding-3-small", base_url=BASE_URL, api_key="none", check_embedding_ctx_length=False)
notes = [f"Rack {i} of the house in Bern holds the pieces of {name}." for i, name in enumerate("nails screws bolts rivets pins hooks rings clips pegs studs wedges".split())]
search = Store.from_texts(notes, vectors).as_retriever(search_kwargs={"k": 3})
model = ChatOpenAI(model="gpt-4o-mini", base_url=BASE_URL, api_key="none")


def answer(question):
    found = "\n".join(d.page_content for d in search.invoke(question))
    return model.invoke([("system", "Answer from the notes."), ("user", question + "\n" + found)]).content


os.write(OUT, RunnableLambda(answer, name="rag").invoke(QUESTIONS[0]).encode())
provider.shutdown()
