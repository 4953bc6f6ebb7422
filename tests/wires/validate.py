"""Are these requests to models what their vendors' own SDKs would send?

Reads lines of JSON `{"wire": …, "name": …, "body": …}` from standard input and writes one for each:
`{"name": …, "problems": […]}`. The shapes are those of the vendors' packages (requirements.txt), which nobody here wrote:
the typed parameters of openai and anthropic, the models of google-genai, the service description of botocore. What they
do not name is refused; the packages themselves would pass it on.
"""

import collections.abc
import json
import os
import sys
import types
import typing
import warnings

import botocore.loaders
import botocore.model
import botocore.validate
import pydantic
import typing_extensions
from anthropic.types import message_create_params
from google.genai import _common as google
from google.genai import types as gemini
from openai.types.chat import completion_create_params
from openai.types.responses import response_create_params

CLOSED = pydantic.ConfigDict(extra="forbid")
KEPT = (typing.Literal, typing_extensions.Literal)


class Closed:
    """Typed parameters as pydantic reads them, made strict: no further fields, lists instead of lazy iterables, and no
    classes of answers, which take any field."""

    def __init__(self):
        self.done = {}

    def of(self, form):
        if typing_extensions.is_typeddict(form):
            return self.of_typed_dict(form)
        origin, arguments = typing.get_origin(form), typing.get_args(form)
        if origin is None or origin in KEPT:
            return form
        if origin is typing.Annotated:
            return self.of(arguments[0])
        if origin in (typing.Union, types.UnionType):
            members = [self.of(one) for one in arguments if not (is_answer(one) or is_file(one))]
            return typing.Union[tuple(members)]
        if origin in (collections.abc.Iterable, collections.abc.Sequence, list) or "SequenceNotStr" in str(origin):
            return list[self.of(arguments[0])]
        if origin is dict:
            return dict[tuple(self.of(one) for one in arguments)]
        if origin in (typing_extensions.Required, typing_extensions.NotRequired, typing.Required, typing.NotRequired):
            return origin[self.of(arguments[0])]
        raise TypeError(f"{form} is a form that this script has not met yet")

    def of_typed_dict(self, form):
        if form not in self.done:
            # Known before its fields are, which may name it again.
            closed = typing_extensions.TypedDict(form.__name__, {}, total=form.__total__)
            closed.__module__, closed.__pydantic_config__ = __name__, CLOSED
            self.done[form] = closed
            hints = typing_extensions.get_type_hints(form, include_extras=True)
            fields = {name: self.of(hint) for name, hint in hints.items()}
            closed.__annotations__ = fields
            required = {name for name in fields if name in form.__required_keys__}
            closed.__required_keys__ = frozenset(required)
            closed.__optional_keys__ = frozenset(set(fields) - required)
        return self.done[form]


def is_answer(form):
    if typing.get_origin(form) is typing.Annotated:
        form = typing.get_args(form)[0]
    members = typing.get_args(form) if typing.get_origin(form) in (typing.Union, types.UnionType) else [form]
    return all(isinstance(one, type) and issubclass(one, pydantic.BaseModel) for one in members)


def is_file(form):
    """Files are read and written as text before they are sent."""
    return (typing.get_origin(form) or form) in (typing.IO, os.PathLike, bytes, tuple)


class Typed:
    def __init__(self, whole, streamed):
        self.forms = {False: whole, True: streamed}
        self.adapters = {}

    def problems(self, body):
        streams = body.get("stream") is True
        if streams not in self.adapters:
            self.adapters[streams] = pydantic.TypeAdapter(Closed().of(self.forms[streams]))
        return pydantic_problems(self.adapters[streams].validate_json, json.dumps(body), strict=True)


class GeminiBody(google.BaseModel):
    """What the SDK sends to generateContent, of its own parts."""

    contents: list[gemini.Content]
    system_instruction: typing.Optional[gemini.Content] = None
    tools: typing.Optional[list[gemini.Tool]] = None
    tool_config: typing.Optional[gemini.ToolConfig] = None
    safety_settings: typing.Optional[list[gemini.SafetySetting]] = None
    generation_config: typing.Optional[gemini.GenerationConfig] = None


class Gemini:
    def problems(self, body):
        return pydantic_problems(GeminiBody.model_validate_json, json.dumps(body))


class WithWords(botocore.validate.ParamValidator):
    """Looks at the words of enumerations too, which botocore leaves to the service."""

    def _validate_string(self, param, shape, errors, name):
        super()._validate_string(param, shape, errors, name)
        if isinstance(param, str) and shape.enum and param not in shape.enum:
            errors.report(name, "invalid length", param=param, min_allowed=f"one of {shape.enum}")


class Converse:
    def __init__(self):
        description = botocore.loaders.Loader().load_service_model("bedrock-runtime", "service-2")
        service = botocore.model.ServiceModel(description)
        self.shape = service.operation_model("Converse").input_shape

    def problems(self, body):
        report = WithWords().validate({"modelId": "in.the.path", **body}, self.shape)
        return report.generate_report().splitlines()


def pydantic_problems(validate, *arguments, **options):
    try:
        validate(*arguments, **options)
    except pydantic.ValidationError as error:
        return [f"{place(one['loc'])}: {one['msg']}" for one in error.errors(include_url=False)]
    except UserWarning as warning:  # google-genai only warns of words that it does not know.
        return [str(warning)]
    return []


def place(steps):
    """Without the unions on the way, whose names are as long as their lists of members."""
    return ".".join(str(step) for step in steps if not str(step).startswith(("list[", "union[")))


WIRES = {
    "Chat Completions": lambda: Typed(
        completion_create_params.CompletionCreateParamsNonStreaming,
        completion_create_params.CompletionCreateParamsStreaming,
    ),
    "Responses": lambda: Typed(
        response_create_params.ResponseCreateParamsNonStreaming,
        response_create_params.ResponseCreateParamsStreaming,
    ),
    "Messages": lambda: Typed(
        message_create_params.MessageCreateParamsNonStreaming,
        message_create_params.MessageCreateParamsStreaming,
    ),
    "Gemini": Gemini,
    "Converse": Converse,
}


def main():
    warnings.simplefilter("error", UserWarning)
    ready = {}
    for line in sys.stdin:
        request = json.loads(line)
        wire = request["wire"]
        if wire not in ready:
            ready[wire] = WIRES[wire]()
        problems = ready[wire].problems(request["body"])
        print(json.dumps({"name": request["name"], "problems": problems}), flush=True)


main()
