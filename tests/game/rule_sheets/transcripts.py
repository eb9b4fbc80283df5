"""The five rule sheets as they are printed, misprints and gaps included.

A transcription for `lint` to judge, never for a table to play by: what we play is in the profiles.
Texts are the sheets' own words; `None` or an empty tuple is what a sheet does not say. Nothing here
is mended or computed.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PrintedRow:
    """One printed line of a tableau: the hand's total, and the two lists of cards."""

    total: str
    draws: str
    stands: str


@dataclass(frozen=True, slots=True)
class Defect:
    """What no check can find by itself: a passage, and what we made of it."""

    where: str
    quote: str
    decision: str


@dataclass(frozen=True, slots=True)
class Sheet:
    """One rule sheet; `profile` is the file that sets every value it misprints or leaves out.

    `egalites` lists the individual odds, each behind its printed label if it has one; `rules` are
    the drawing rules given in words only.
    """

    number: int
    title: str
    profile: str
    decks: tuple[int, ...]
    deal_order: str | None
    punto: tuple[PrintedRow, ...]
    banco: tuple[PrintedRow, ...]
    rules: tuple[str, ...]
    on_egalite: str | None
    egalite_odds: str | None
    egalites: str = ""
    commission: str | None = None
    commission_rounding: str | None = None
    defects: tuple[Defect, ...] = ()


PUNTO_UK = (
    PrintedRow("Baccarat (0)-1-2-3-4-5", "DRAWS", ""),
    PrintedRow("6-7", "", "STANDS"),
    PrintedRow("8-9", "A NATURAL", "A NATURAL"),
)

BANCO_FROM_4_UK = (
    PrintedRow("4", "2-3-4-5-6-7", "0-1-8-9"),
    PrintedRow("5", "4-5-6-7", "0-1-2-3-8-9"),
    PrintedRow("6", "6-7", "0-1-2-3-4-5-8-9"),
    PrintedRow("7", "STANDS", "STANDS"),
    PrintedRow("8-9", "A NATURAL", "A NATURAL"),
)

BANCO_UK = (PrintedRow("3", "0-1-2-3-4-5-6-7-9", "8"), *BANCO_FROM_4_UK)

DOUBLE_CHANCE = Sheet(
    number=0,
    title="Double Chance Baccarat",
    profile="double-chance",
    decks=(8,),
    deal_order=None,
    punto=PUNTO_UK,
    banco=BANCO_UK,
    rules=(),
    on_egalite="paid at a previously agreed percentage of the amount staked",
    egalite_odds="9-1",
    egalites="0 150-1, 1 215-1, 2 225-1, 3 200-1, 4 120-1, 4 120-1, 6 45-1, 7 45-1, 8 80-1, 9 80-1",
    defects=(
        Defect(
            "Egalite and main bets",
            "any Bank or Player bets are paid at a previously agreed percentage of the amount "
            "staked",
            "the stake is returned and the percentage is paid on top of it: only so do the "
            "published 0.195 % to 0.956 % come out",
        ),
        Defect(
            "Three giving eight",
            "3g8 is an optional wager",
            "no qualifying bet is named, so it stands alone",
        ),
    ),
)

PUNTO_BANCO = Sheet(
    number=1,
    title="Punto Banco",
    profile="punto-banco",
    decks=(8,),
    deal_order=None,
    punto=PUNTO_UK,
    banco=BANCO_UK,
    rules=(),
    on_egalite="any Bank or Player bets are deemed a stand off",
    egalite_odds="9-1",
    egalites="150-1, 215-1, 225-1, 200-1, 120-1, 110-1, 45-1, 45-1, 80-1, 80-1",
    defects=(
        Defect(
            "Individual Egalites",
            "MUST be accompanied by a Bank or Player wager",
            "sheets 0 and 2 also let an Egalite wager qualify; here it does not",
        ),
        Defect(
            "Electronic terminals",
            "any malfunction or computer error will void all wagers",
            "it binds wagers on terminals; on a live table the supervisor decides (order VoidCoup)",
        ),
        Defect(
            "Three giving eight",
            "3g8 is an optional wager",
            "no qualifying bet is named, so it stands alone",
        ),
    ),
)

UR_WAY = Sheet(
    number=2,
    title="Punto Banco, Lucky Pair and UR WAY",
    profile="punto-banco-ur-way",
    decks=(8,),
    deal_order=None,
    punto=PUNTO_UK,
    banco=(PrintedRow("3", "0-1-2-4-5-6-7-8-9", "8"), *BANCO_FROM_4_UK),
    rules=(),
    on_egalite="any Bank or Player bets are deemed a stand-off",
    egalite_odds="9-1",
    defects=(
        Defect(
            "UR WAY Egalites",
            "Only players with a Bank, Punto and/ or Any Tie Bet may wager on the Individual UR "
            "WAY Egalites",
            "the bets are named but no odds are printed; those of sheets 0 and 1 are used",
        ),
        Defect(
            "Over- and under-drawing",
            "if the error had not been rectified ... prior to cards being drawn for the next coup "
            "[, all coups thereafter",
            "the bracket never closes; read as sheets 0 and 1 have it",
        ),
        Defect(
            "Lucky Pair",
            "Usual odds paid",
            '"usual" fixes nothing; 11-1 is what the table pays',
        ),
    ),
)

COMMISSION = Sheet(
    number=3,
    title="Baccarat with commission",
    profile="commission",
    decks=(8,),
    deal_order="the first two being the players hands cards ... the second two cards for the banks "
    "hand",
    punto=(
        PrintedRow("1,2,3,4,5 or 0", "Draw a third card", ""),
        PrintedRow("6 or 7", "", "Stand with two cards"),
        PrintedRow("8 or 9", "", "Stand with two cards"),
    ),
    banco=(
        PrintedRow("3", "1,2,3,4,5,6,7,9,0", "8"),
        PrintedRow("4", "2,3,4,5,6,7", "1,8,9,0"),
        PrintedRow("5", "4,5,6,7", "1,2,3,8,9,0"),
        PrintedRow("6", "6,7", "1,2,3,4,5,8,9,0"),
        PrintedRow("7", "", "Stands with two cards"),
        PrintedRow("8", "", "Stands with two cards"),
    ),
    rules=(
        (
            "If the player does not draw a third card, then the banker's hand stands on 6 or "
            "more and takes a third card on a total of 5 or less."
        ),
        (
            "If the banks total is 2 or less then bank draws a card, regardless of what the "
            "players third card is."
        ),
    ),
    on_egalite=None,
    egalite_odds="8-1",
    commission="5 %",
    defects=(
        Defect(
            "Order of dealing",
            "the first two being the players hands cards",
            "read as whose cards they are, not as the order: P B P B like every other document",
        ),
        Defect(
            "Banco's table",
            "8   Stands with two cards",
            'there is no row 9; rule 1 covers it ("a total of 8 or 9 ... no further cards")',
        ),
    ),
)

SIX_OR_EIGHT = Sheet(
    number=4,
    title="Six or eight decks",
    profile="six-or-eight",
    decks=(6, 8),
    deal_order="first to the player and then the banker",
    punto=(),
    banco=(),
    rules=(
        (
            "If the player does not draw a third card, then the bank's hand stands on 6 or more "
            "and takes a third card on a total of 5 or less."
        ),
        (
            "If the bank's total is 2 or less then bank draws a card, regardless of what the "
            "players third card is."
        ),
        (
            "If the banks total is 3 then the bank draws a third card unless the players third "
            "card was an 8."
        ),
        (
            "If the banks total is 4 then the bank draws a third card unless the players third "
            "card was a 0, 1, 8, or 9."
        ),
        (
            "If the banks total is 5 then the bank draws a third card if the players third card "
            "was 4, 5, 6, or 7."
        ),
        (
            "If the banks total is 6 then the bank draws a third card if the players third card "
            "was a 6 or 7."
        ),
        "If the banks total is 7 then the bank stands.",
    ),
    on_egalite="those who bet on banker and player can get their bet",
    egalite_odds="8-1",
    commission="5 %",
    defects=(
        Defect(
            "Order of dealing",
            "The card dealer gives two cards each; first to the player and then the banker",
            "silent on whether one or two at a time: P B P B like every other document",
        ),
        Defect(
            "Egalite and main bets",
            "If both the banker and the player get two cards of the same value",
            "meant is the same total on the finished hands; the stakes are returned",
        ),
        Defect(
            "Naturals",
            "This is called (kings)",
            "a mistranslation; 8 or 9 on two cards is a natural",
        ),
        Defect(
            "Pairs",
            "in the first two cards to get a pair, odds for a compensable 11",
            '11-1 on one named hand; on "either pair" the house would lose 72.6 % of every stake',
        ),
        Defect(
            "Drawing",
            "if the player took the third card, then, or if there is a rule on the third card",
            "the sentence is unfinished; the numbered rules further down are complete",
        ),
    ),
)

SHEETS: tuple[Sheet, ...] = (DOUBLE_CHANCE, PUNTO_BANCO, UR_WAY, COMMISSION, SIX_OR_EIGHT)
