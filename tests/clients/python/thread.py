"""A whole thread through the client that openapi-python-client makes of the contract.

Takes the address of the service; prints what it saw as JSON. tests/it/contract/clients.rs generates the client and
compares.
"""

import json
import sys

from fathom_client import Client, models
from fathom_client.api.options import get_options
from fathom_client.api.runs import get_report, get_run
from fathom_client.api.threads import add_message, create_thread
from httpx_sse import connect_sse

QUESTION = "Why did the turbine Petrel stop in November 2030, and what did it cost?"


def expect(kind, answer):
    """The answer of one operation, which has to be of that type."""
    assert isinstance(answer, kind), f"{kind.__name__} expected, not {answer!r}"
    return answer


def follow(client, run_id):
    """The events of a run, typed, to its end. None of them is empty."""
    with connect_sse(client.get_httpx_client(), "GET", f"/api/v1/runs/{run_id}/events") as stream:
        for number, record in enumerate(stream.iter_sse()):
            event = json.loads(record.data)
            assert (record.id, record.event) == (str(event["seq"]), event["type"]), record
            assert number > 0 or record.retry == 3000, record
            page = models.EventPage.from_dict({"data": [event], "next_after": 0, "done": False})
            yield page.data[0]


def watch(client, run):
    """What a run's events tell: their types, the sources' titles, the report, how it ended."""
    seen = {"types": [], "sources": [], "report": "", "outcome": None}
    for event in follow(client, run.id):
        seen["types"].append(event.type_)
        match event:
            case models.SourceFoundEvent(data=data):
                seen["sources"].append(data.title)
            case models.ReportStartedEvent():
                seen["report"] = ""
            case models.ReportDeltaEvent(data=data):
                seen["report"] += data.text
            case models.RunCompletedEvent(data=data):
                seen["outcome"] = data.outcome.value
    return seen


def main(address):
    client = Client(base_url=address, timeout=60)
    defaults = expect(models.OptionsInfo, get_options.sync(client=client)).defaults

    options = models.RunOptions(max_researcher_iterations=2)
    question = models.NewThread(message=QUESTION, options=options)
    created = expect(models.ThreadCreated, create_thread.sync(client=client, body=question))
    assert created.thread.options.to_dict() == {"max_researcher_iterations": 2}, "only what was set is sent"
    expected = defaults.to_dict() | {"max_researcher_iterations": 2}
    assert created.run.options.to_dict() == expected, "the rest is as the operator wants it"

    research = watch(client, created.run)
    research["by_client"] = expect(str, get_report.sync(id=created.run.id, client=client))
    run = expect(models.Run, get_run.sync(id=created.run.id, client=client))
    assert run.status is models.RunStatus.COMPLETED and run.outcome is models.Outcome.REPORT

    bad = models.NewThread(message=QUESTION, options=models.RunOptions(max_researcher_iterations=99))
    problem = expect(models.Problem, create_thread.sync(client=client, body=bad))
    assert problem.code is models.ProblemCode.VALIDATION_FAILED

    again = models.NewMessage(content="What did the repair of Petrel cost?")
    accepted = expect(models.MessageAccepted, add_message.sync(id=created.thread.id, client=client, body=again))
    follow_up = watch(client, accepted.run)

    summary = {
        "run": str(created.run.id),
        "research": research,
        "problem": problem.errors[0].pointer,
        "follow_up": {"run": str(accepted.run.id), "types": follow_up["types"], "outcome": follow_up["outcome"]},
    }
    print(json.dumps(summary))


if __name__ == "__main__":
    main(sys.argv[1])
