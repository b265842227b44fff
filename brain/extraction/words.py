"""Word lists that the finders share; each entry is lower case."""

# Verbs with which people tell themselves to do something.
IMPERATIVES = frozenset(
    """
    add answer approve arrange ask back book bring build buy call cancel change check choose clean clear close collect
    compare confirm contact cook copy create cut deliver deploy draft email explain file fill find finish fix follow
    forward get give go hang install invite invoice issue join learn look mail make measure meet merge move note notify
    open order organise organize pack paint pay phone pick plan post practise prepare print publish put read register
    remind remove renew rename repair replace reply report request research return review rewrite ring run save
    schedule sell send set ship show sign sort start stop store submit subscribe sweep switch take talk tell test text
    thank throw tidy translate try turn update upgrade upload use verify visit wash watch water wrap write
    anrufen kaufen bezahlen schreiben buchen bestellen rappeler acheter payer llamar comprar pagar
    """.split()  # noqa: SIM905
)

STOP = frozenset(
    """
    a about above after again against all almost already also although always am an and any anybody anyone anything are
    around as at away be became because been before behind being below between both but by can cannot could did do does
    doing done down during each either else ever every everyone everything few for from further had has have having he
    her here hers him his how however i if in into is it its itself just keep later least less let like many may me
    might mine more most much must my myself never next no nobody none nor not nothing now of off often on once one only
    onto or other our ours out over own per perhaps please rather really same shall she should since so some somebody
    something soon still such than that the their theirs them then there these they this those through till to too
    toward under until up upon us very was we were what when where whether which while who whom whose why will with
    within without would yes yet you your yours t s d ll ve re m don doesn didn won isn aren wasn
    today tomorrow yesterday tonight morning afternoon evening week weeks month months year years day days time times
    went goes going got get gets said says say want wants wanted need needs needed agreed decided learned turns makes
    made make ask asks last first second third new best worst good bad better badly strong possible present probably
    interesting noticed noticing idea todo note self remind remember remembering forget dear diary feeling felt worth
    met meet meeting call called interviewed
    lesson decision takeaway mistake hypothesis experiment maybe could does answer answers chose settled final
    und der die das den dem ein eine einen im in zu zum zur wegen mit von ist nicht auch morgen heute
    le la les un une des du de et est pour dans demain avec penser
    el los las una por con para que en ma\u00f1ana hoy
    """.split()  # noqa: SIM905
)

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
