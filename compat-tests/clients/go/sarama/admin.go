package main

import (
	"fmt"
	"strings"

	"dohle.compat/go/wire"
	"github.com/IBM/sarama"
)

// code turns an error code of an answer into an error.
func code(e sarama.KError) error {
	if e == sarama.ErrNoError {
		return nil
	}
	return e
}

func pointers(settings map[string]string) map[string]*string {
	answer := map[string]*string{}
	for name, value := range settings {
		answer[name] = &value
	}
	return answer
}

func admin(bootstrap string) error {
	client, err := sarama.NewClient(strings.Split(bootstrap, ","), settings())
	if err != nil {
		return err
	}
	a, err := sarama.NewClusterAdminFromClient(client)
	if err != nil {
		return err
	}
	defer a.Close()
	commands := groupCommands(a)
	commands["create"] = func(w wire.Args) (any, error) {
		return nil, a.CreateTopic(w.Text(0), &sarama.TopicDetail{NumPartitions: int32(w.Int(1)), ReplicationFactor: 1, ConfigEntries: pointers(w.Settings(2))}, false)
	}
	commands["topics"] = func(wire.Args) (any, error) {
		names := []string{}
		topics, err := a.ListTopics()
		for name := range topics {
			names = append(names, name)
		}
		return names, err
	}
	commands["describe"] = func(w wire.Args) (any, error) {
		topics, err := a.DescribeTopics([]string{w.Text(0)})
		if err != nil || len(topics) != 1 {
			return nil, fmt.Errorf("%d topics: %w", len(topics), err)
		}
		return len(topics[0].Partitions), code(topics[0].Err)
	}
	commands["delete"] = func(w wire.Args) (any, error) { return nil, a.DeleteTopic(w.Text(0)) }
	commands["configs"] = func(w wire.Args) (any, error) {
		answer := map[string]string{}
		entries, err := a.DescribeConfig(sarama.ConfigResource{Type: sarama.TopicResource, Name: w.Text(0)})
		for _, e := range entries {
			answer[e.Name] = e.Value
		}
		return answer, err
	}
	commands["alter"] = func(w wire.Args) (any, error) {
		changes := map[string]sarama.IncrementalAlterConfigsEntry{}
		for name, value := range pointers(w.Settings(1)) {
			changes[name] = sarama.IncrementalAlterConfigsEntry{Operation: sarama.IncrementalAlterConfigsOperationSet, Value: value}
		}
		return nil, a.IncrementalAlterConfig(sarama.TopicResource, w.Text(0), changes, false)
	}
	commands["grow"] = func(w wire.Args) (any, error) {
		return nil, a.CreatePartitions(w.Text(0), int32(w.Int(1)), nil, false)
	}
	commands["truncate"] = func(w wire.Args) (any, error) {
		return nil, a.DeleteRecords(w.Text(0), map[int32]int64{int32(w.Int(1)): w.Int(2)})
	}
	commands["times"] = func(w wire.Args) (any, error) {
		answer := map[int32]int64{}
		partitions, err := client.Partitions(w.Text(0))
		for _, p := range partitions {
			if answer[p], err = client.GetOffset(w.Text(0), p, w.Int(1)); err != nil {
				return nil, err
			}
		}
		return answer, err
	}
	return wire.Session(commands)
}

func groupCommands(a sarama.ClusterAdmin) map[string]func(wire.Args) (any, error) {
	return map[string]func(wire.Args) (any, error){
		"groups": func(wire.Args) (any, error) {
			names := []string{}
			groups, err := a.ListConsumerGroups()
			for name := range groups {
				names = append(names, name)
			}
			return names, err
		},
		"group": func(w wire.Args) (any, error) {
			groups, err := a.DescribeConsumerGroups([]string{w.Text(0)})
			if err != nil || len(groups) != 1 {
				return nil, fmt.Errorf("%d groups: %w", len(groups), err)
			}
			return []any{groups[0].State, len(groups[0].Members)}, code(groups[0].Err)
		},
		"committed": func(w wire.Args) (any, error) {
			answer := map[int32]int64{}
			offsets, err := a.ListConsumerGroupOffsets(w.Text(0), nil)
			if err != nil {
				return nil, err
			}
			for p, block := range offsets.Blocks[w.Text(1)] {
				answer[p] = block.Offset
			}
			return answer, code(offsets.Err)
		},
		"commit": func(w wire.Args) (any, error) {
			offsets := map[int32]sarama.OffsetAndMetadata{}
			for p, at := range w.Offsets(2) {
				offsets[p] = sarama.OffsetAndMetadata{Offset: at, LeaderEpoch: -1}
			}
			answer, err := a.AlterConsumerGroupOffsets(w.Text(0), map[string]map[int32]sarama.OffsetAndMetadata{w.Text(1): offsets}, nil)
			if err != nil {
				return nil, err
			}
			for _, e := range answer.Errors[w.Text(1)] {
				if e != sarama.ErrNoError {
					return nil, e
				}
			}
			return nil, nil
		},
		"forget": func(w wire.Args) (any, error) { return nil, a.DeleteConsumerGroup(w.Text(0)) },
	}
}
