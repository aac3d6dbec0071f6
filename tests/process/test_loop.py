"""The loop of items over a list, with an executor that answers as it is told."""

import pytest

from pflow.errors import PflowError
from pflow.process.loop import ItemLoop, ListLoop, SerialExecutor, TooLate, WorkItem, claiming
from pflow.process.pool import Died


class Told:
    """Gives each item the answers that it is told, all that run at once."""

    def __init__(self, answers, room=9):
        self.answers, self.room = answers, room
        self.waiting, self.began = [], []

    def has_room(self, *, alone=False):
        return len(self.waiting) < self.room

    def submit(self, number, /, about, *, alone=False):
        self.waiting.append((number, about))
        self.began.append((about, alone))

    def wait(self, seconds):
        ended, self.waiting = self.waiting, []
        return [(number, self.answers[about].pop(0)) for number, about in ended if self.answers[about]]

    def abandon(self, number):
        self.answers["abandoned"] = number

    def close(self):
        self.began.append("closed")


def fault(exit, **about):
    error = PflowError(f"failure {exit}", exit=exit)
    vars(error).update(about)
    return error


def kept(answers, tasks="abc", room=9, rescues=False):
    """What a list's loop did with its items, and what it raised."""
    done, failed, executor = {}, [], Told(answers, room)

    def keep(about, result):
        if isinstance(result, PflowError) and not rescues:
            failed.append((about, result))
        else:
            done[about] = result
        return "rescued" if rescues and isinstance(result, PflowError) else result

    try:
        ListLoop(map(WorkItem, tasks), keep).run(executor)
    except PflowError as error:
        return done, failed, executor.began, error
    return done, failed, executor.began, None


def test_the_first_failure_ends_the_others_and_is_raised():
    no = fault(3)
    done, failed, began, error = kept({"a": [1], "b": [no], "c": [2]}, room=2)
    assert (done, failed, began, error) == ({"a": 1}, [("b", no)], [("a", False), ("b", False), "closed"], no)


def test_a_failure_that_ends_the_run_lets_the_others_end_and_no_failure_is_lost():
    refused, paid = fault(79, ends_run=True), fault(78, ends_run=True, usage={"calls": 1})
    done, failed, began, error = kept({"a": [refused], "b": [paid], "c": [2], "d": [3]}, "abcd", room=3)
    assert (done, failed, error) == ({"c": 2}, [("a", refused), ("b", paid)], refused)
    assert began == [("a", False), ("b", False), ("c", False), "closed"]


def test_the_death_of_a_process_may_be_a_result():
    done, failed, _, error = kept({"a": [Died(-9)], "b": [2]}, "ab", rescues=True)
    assert (done["a"].exit, done["b"], failed, error) == (137, 2, [], None)


def test_what_runs_here_ends_before_the_next_begins():
    said = []
    loop = ListLoop(map(WorkItem, "ab"), lambda about, result: said.append(result))
    loop.run(SerialExecutor(lambda about: said.append(about)))
    assert said == ["a", None, "b", None]


def test_an_item_that_does_not_end_is_given_up_and_another_of_its_key_begins(monkeypatch):
    class Loop(ItemLoop):
        def end(self, work, result):
            ends.append((*work.about, result if isinstance(result, int) else (type(result), result.exit)))

    ends, executor = [], Told({"a": [], "b": [5]})
    monkeypatch.setattr("pflow.process.loop.GRACE", 0)
    Loop([WorkItem("a", key="k"), WorkItem("b", key="k")], timeout=0.01).run(executor)
    assert ends == [("a", (TooLate, 124)), ("b", 5)]
    assert executor.answers["abandoned"] == 1


def test_a_file_is_claimed_for_the_items_around_too():
    firsts, outer = {}, []

    def ask(about):
        return firsts.setdefault(about[1], about[0])

    one, other = (claiming(own, ask, "item {}".format, "x", outer.append) for own in "12")
    one("/f")
    one("/f")
    with pytest.raises(PflowError, match="cannot write '/f': item 1 writes it too") as caught:
        other("/f")
    assert (caught.value.exit, caught.value.hint, outer) == (
        73,
        "give each item a path of its own, as with '$x' in it",
        ["/f"] * 3,
    )
