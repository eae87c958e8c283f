"""Kafka 4.4's message schemas, read from its own jar; nothing of them is copied here."""

import json
import re
import zipfile

from harness.clients import WORK
from harness.raw import NUMBERS, Layout, _holds as holds

__all__ = ["NUMBERS", "Api", "load"]


class Api:
    """One request with its answer."""

    def __init__(self, request, response):
        self.name = request["name"].removesuffix("Request")
        self.key = request["apiKey"]
        self.listeners = request.get("listeners", [])
        self.request, self.response = request, response

    def asks(self, version):
        return Layout(self.request, version)

    def answers(self, version):
        return Layout(self.response, version)

    def fields(self, version):
        return [field for field in self.request["fields"] if holds(field["versions"], version)]


def load():
    """Every API by name."""
    jar = next((WORK / "java/libs").glob("kafka-clients-4.4*.jar"))
    requests, responses = {}, {}
    with zipfile.ZipFile(jar) as entries:
        for entry in entries.namelist():
            if not re.fullmatch(r"common/message/\w+(Request|Response)\.json", entry):
                continue
            schema = json.loads(re.sub(r"^\s*//.*$", "", entries.read(entry).decode(), flags=re.M))
            schema["structs"] = {struct["name"]: struct["fields"] for struct in schema.get("commonStructs", [])}
            (requests if schema["type"] == "request" else responses)[schema["apiKey"]] = schema
    apis = [Api(request, responses[key]) for key, request in requests.items() if request["validVersions"] != "none"]
    return {api.name: api for api in apis}
