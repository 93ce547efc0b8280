"""The rules of a conversation: found in what the user says, kept in every summary, and ended.

Prints::

    t2:1 From now on, never suggest a flight.
    t42:1 for this trip: Name prices in euros.
    the summary begins with
      Standing instructions:
      user: From now on, never suggest a flight.
      user: for this trip: Name prices in euros.
    after "You may suggest a flight again."
      t2:1 ended by t84
      t42:1 stands
"""

from polycontext import ContextSession
from polycontext.pressure import is_summary


def talk(session: ContextSession, hotels: range) -> None:
    """Talk about hotels."""
    for number in hotels:
        session.add_user_turn(f"What about hotel {number}?")
        session.add_assistant_turn(f"Hotel {number} is quiet. " + "Breakfast is included. " * 20)


def main() -> None:
    """State a rule, add another one, compress, and revoke the first."""
    session = ContextSession(max_tokens=8_000)
    session.add_user_turn("Plan a trip to Vienna.")
    home = "I live in Ulm, near the station, with two bicycles and a dog that likes trains. "
    session.add_user_turn(f"{home * 3}From now on, never suggest a flight. Where do I start?")
    session.add_assistant_turn("At Ulm central station, with the morning train.")
    talk(session, range(19))
    session.rules.add("Name prices in euros.", scope="for this trip")
    for rule in session.rules.list():
        print(rule.id, rule.text)
    talk(session, range(19, 39))
    session.compress(0.2)
    summary = next(turn for turn in session.window.all_turns() if is_summary(turn))
    print("the summary begins with")
    for line in summary.text.splitlines()[1:4]:
        print(f"  {line}")
    session.add_user_turn("You may suggest a flight again.")
    print('after "You may suggest a flight again."')
    for rule in session.rules.list(ended=True):
        print(f"  {rule.id}", "stands" if rule.stands else f"ended by {rule.ended_by}")


if __name__ == "__main__":
    main()
