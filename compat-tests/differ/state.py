"""Everything that can be seen of a broker, as requests: asked of both sides when the walks are over."""


def look(driver):
    """Asks for all visible state; what it needs to ask is taken from Kafka's answers."""
    driver.walk = "state"
    driver.tape.append({"walk": "state"})
    ask, offers = driver.ask, driver.offers
    topics = ask("Metadata", 12, {"Topics": None, "AllowAutoTopicCreation": False})["body"]["Topics"]
    topics = sorted(topics, key=lambda topic: topic["Name"])
    names = [topic["Name"] for topic in topics]
    for start in range(0, len(names), 50):
        rows = [{"Name": name} for name in names[start : start + 50]]
        ask("DescribeTopicPartitions", 0, {"Topics": rows, "ResponsePartitionLimit": 2000, "Cursor": None})
        rows = [{"ResourceType": 2, "ResourceName": row["Name"], "ConfigurationKeys": None} for row in rows]
        ask("DescribeConfigs", 4, {"Resources": rows, "IncludeSynonyms": True, "IncludeDocumentation": False})
    ask("DescribeConfigs", 4, {"Resources": [{"ResourceType": 4, "ResourceName": name, "ConfigurationKeys": None} for name in ("1", "")], "IncludeSynonyms": True, "IncludeDocumentation": False})
    ask("DescribeCluster", 2, {"IncludeClusterAuthorizedOperations": True, "EndpointType": 1, "IncludeFencedBrokers": True})
    ask("ListPartitionReassignments", 0, {"TimeoutMs": 10000, "Topics": None})
    resources(driver)
    visible = [topic for topic in topics if not topic["IsInternal"]]
    for start in range(0, len(visible), 20):
        logs(driver, visible[start : start + 20])
    groups(driver)
    transactions(driver)
    if "DescribeClientQuotas" in offers:
        ask("DescribeClientQuotas", 1, {"Components": [], "Strict": False})
    if "DescribeUserScramCredentials" in offers:
        ask("DescribeUserScramCredentials", 0, {"Users": None})
    ask("DescribeLogDirs", 4, {"Topics": [{"Topic": topic["Name"], "Partitions": [part["PartitionIndex"] for part in topic["Partitions"]]} for topic in visible]})
    driver.leave()


def resources(driver):
    """Settings of groups and of client metrics."""
    body = driver.ask("ListConfigResources", 1, {"ResourceTypes": [16, 32]})["body"]
    rows = [{"ResourceType": row["ResourceType"], "ResourceName": row["ResourceName"], "ConfigurationKeys": None} for row in body["ConfigResources"]]
    if rows:
        rows.sort(key=lambda row: (row["ResourceType"], row["ResourceName"]))
        driver.ask("DescribeConfigs", 4, {"Resources": rows, "IncludeSynonyms": True, "IncludeDocumentation": False})


def logs(driver, topics):
    """Ends, producers, and every record of some topics."""
    parts = {topic["Name"]: sorted(part["PartitionIndex"] for part in topic["Partitions"]) for topic in topics}
    starts = {}
    for isolation, stamp in ((0, -1), (1, -1), (0, -2), (0, -3), (0, -4)):
        rows = [{"Name": name, "Partitions": [{"PartitionIndex": part, "CurrentLeaderEpoch": -1, "Timestamp": stamp} for part in indexes]} for name, indexes in parts.items()]
        body = driver.ask("ListOffsets", 8, {"ReplicaId": -1, "IsolationLevel": isolation, "Topics": rows})["body"]
        if stamp == -2:
            starts = {(topic["Name"], row["PartitionIndex"]): max(row["Offset"], 0) for topic in body["Topics"] for row in topic["Partitions"]}
    driver.ask("DescribeProducers", 0, {"Topics": [{"Name": name, "PartitionIndexes": indexes} for name, indexes in parts.items()]})
    epochs = [{"Topic": name, "Partitions": [{"Partition": part, "CurrentLeaderEpoch": -1, "LeaderEpoch": 0} for part in indexes]} for name, indexes in parts.items()]
    driver.ask("OffsetForLeaderEpoch", 4, {"ReplicaId": -1, "Topics": epochs})
    for isolation in (0, 1):
        records(driver, isolation, dict(starts))


def records(driver, isolation, offsets):
    """Reads to the end, where an answer has less."""
    while offsets:
        topics = {}
        for (name, part), offset in offsets.items():
            row = {"Partition": part, "CurrentLeaderEpoch": -1, "FetchOffset": offset, "LastFetchedEpoch": -1, "LogStartOffset": -1, "PartitionMaxBytes": 1 << 20}
            topics.setdefault(name, []).append(row)
        rows = [{"Topic": name, "Partitions": parts} for name, parts in topics.items()]
        body = driver.ask("Fetch", 12, {"MaxWaitMs": 0, "MinBytes": 0, "MaxBytes": 1 << 26, "IsolationLevel": isolation, "SessionId": 0, "SessionEpoch": -1, "Topics": rows})["body"]
        offsets = {}
        for topic in body["Responses"]:
            for part in topic["Partitions"]:
                if part["Records"] and part["Records"]["stored"]:
                    last = part["Records"]["stored"][-1]
                    end = last["base"] + last["last"] + 1
                    if end < part["LastStableOffset"]:
                        offsets[topic["Topic"], part["PartitionIndex"]] = end


DESCRIBES = {"Classic": "DescribeGroups", "Consumer": "ConsumerGroupDescribe", "Share": "ShareGroupDescribe", "Streams": "StreamsGroupDescribe"}


def groups(driver):
    rows = driver.ask("ListGroups", 5, {"StatesFilter": [], "TypesFilter": []})["body"]["Groups"]
    for kind, name in DESCRIBES.items():
        ids = sorted(row["GroupId"] for row in rows if row["GroupType"].lower() == kind.lower())
        if ids and name in driver.offers:
            fields = {"Groups": ids} if name == "DescribeGroups" else {"GroupIds": ids}
            driver.ask(name, driver.offers[name][1], fields)
    ids = sorted(row["GroupId"] for row in rows)
    shares = sorted(row["GroupId"] for row in rows if row["GroupType"].lower() == "share")
    if shares and "DescribeShareGroupOffsets" in driver.offers:
        driver.ask("DescribeShareGroupOffsets", driver.offers["DescribeShareGroupOffsets"][1], {"Groups": [{"GroupId": name, "Topics": None} for name in shares]})
    for start in range(0, len(ids), 50):
        groups = [{"GroupId": name, "Topics": None} for name in ids[start : start + 50]]
        driver.ask("OffsetFetch", 8, {"Groups": groups, "RequireStable": False})


def transactions(driver):
    body = driver.ask("ListTransactions", driver.offers["ListTransactions"][1], {"StateFilters": [], "ProducerIdFilters": [], "DurationFilter": -1, "TransactionalIdPattern": None})["body"]
    ids = sorted(row["TransactionalId"] for row in body["TransactionStates"])
    if ids:
        driver.ask("DescribeTransactions", 0, {"TransactionalIds": ids})
