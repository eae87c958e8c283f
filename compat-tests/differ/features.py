"""Features raised and lowered, one after the other: the last sequence on a pair, because it changes what a broker can do."""

GROUPS = {"group.version": "ConsumerGroupHeartbeat", "share.version": "ShareGroupHeartbeat", "streams.version": "StreamsGroupHeartbeat"}
# Feature, level, way: 1 is up, 2 is a downgrade that loses nothing, 3 one that may.
STEPS = (
    ("transaction.version", 1, 1), ("transaction.version", 1, 2), ("transaction.version", 0, 2), ("transaction.version", 2, 1),
    ("group.version", 0, 1), ("group.version", 0, 2), ("group.version", 0, 3), ("group.version", 2, 1), ("group.version", 1, 1),
    ("share.version", 1, 2), ("share.version", 0, 2), ("share.version", 0, 3), ("share.version", 3, 1), ("share.version", 2, 1),
    ("streams.version", 0, 2), ("streams.version", 0, 3), ("streams.version", 1, 1),
    ("eligible.leader.replicas.version", 0, 2), ("eligible.leader.replicas.version", 1, 1),
    ("kraft.version", 0, 2), ("kraft.version", 0, 3), ("kraft.version", 1, 1), ("kraft.version", 2, 1), ("bogus.version", 1, 1), ("bogus.version", 0, 2),
    ("metadata.version", 1, 2), ("metadata.version", 99, 1), ("metadata.version", 0, 2), ("metadata.version", -1, 2), ("group.version", 1, 0), ("group.version", 1, 4),
)


def walk(driver, barrier):
    driver.walk = "features"
    driver.tape.append({"walk": "features"})
    low, high = driver.offers["UpdateFeatures"]
    for number, (feature, level, way) in enumerate(STEPS):
        # Both ways to ask: first only looked at, then done.
        for looks in (True, False):
            version = high if number % 3 else max(low, 1)
            row = {"Feature": feature, "MaxVersionLevel": level, "AllowDowngrade": False, "UpgradeType": way}
            update(driver, version, [row], looks)
        driver.settle(barrier)
        driver.ask("ApiVersions", driver.offers["ApiVersions"][1], {"ClientSoftwareName": "differ", "ClientSoftwareVersion": "1.0"})
        asked(driver, feature)
    several(driver, high)
    driver.leave()


def asked(driver, feature):
    """Whether a group of that kind can be joined now."""
    name = GROUPS.get(feature)
    if name in driver.offers:
        streams = {"Topology": {"Epoch": 0, "Subtopologies": []}, "ActiveTasks": [], "StandbyTasks": [], "WarmupTasks": [], "ProcessId": "p"} if name.startswith("Streams") else {"SubscribedTopicNames": ["no-such-topic"]}
        rest = {"TopicPartitions": []} if name.startswith("Consumer") else {}
        driver.ask(name, driver.offers[name][1], {"GroupId": "features", "MemberId": "AAAAAAAAAAAAAAAAAAAAAQ", "MemberEpoch": 0, **({} if name.startswith("Share") else {"RebalanceTimeoutMs": 60000}), **streams, **rest})
        driver.ask(name, driver.offers[name][1], {"GroupId": "features", "MemberId": "AAAAAAAAAAAAAAAAAAAAAQ", "MemberEpoch": -1})


def update(driver, version, rows, looks):
    names = ("Feature", "MaxVersionLevel", "UpgradeType")
    driver.ask("UpdateFeatures", version, {"timeoutMs": 10000, "ValidateOnly": looks, "FeatureUpdates": [{name: row[name] for name in names} for row in rows]})


def several(driver, version):
    """One of a request cannot be: none is done."""
    good = {"Feature": "streams.version", "MaxVersionLevel": 0, "UpgradeType": 2}
    bad = {"Feature": "group.version", "MaxVersionLevel": 9, "UpgradeType": 1}
    for rows in ([good, bad], [good, good], []):
        for looks in (True, False):
            update(driver, version, rows, looks)
    driver.ask("ApiVersions", driver.offers["ApiVersions"][1], {"ClientSoftwareName": "differ", "ClientSoftwareVersion": "1.0"})
