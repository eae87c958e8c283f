package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"dohle.compat/go/wire"
	"github.com/segmentio/kafka-go"
)

// fresh is a client that does not answer from what it knew about topics a while ago.
func fresh(bootstrap string) *kafka.Client {
	address := kafka.TCP(strings.Split(bootstrap, ",")...)
	return &kafka.Client{Addr: address, Timeout: 30 * time.Second, Transport: &kafka.Transport{MetadataTTL: 50 * time.Millisecond}}
}

// partitions waits a little for a topic that was made just now.
func partitions(ctx context.Context, c *kafka.Client, topic string) ([]int, error) {
	ids, err := partitionsNow(ctx, c, topic)
	for try := 0; try < 50 && errors.Is(err, kafka.UnknownTopicOrPartition); try++ {
		time.Sleep(20 * time.Millisecond)
		ids, err = partitionsNow(ctx, c, topic)
	}
	return ids, err
}

func partitionsNow(ctx context.Context, c *kafka.Client, topic string) ([]int, error) {
	metadata, err := c.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{topic}})
	if err != nil {
		return nil, err
	}
	ids := []int{}
	for _, t := range metadata.Topics {
		if t.Error != nil {
			return nil, t.Error
		}
		for _, p := range t.Partitions {
			ids = append(ids, p.ID)
		}
	}
	return ids, nil
}

func admin(bootstrap string) error {
	c := fresh(bootstrap)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	commands := groupCommands(ctx, c)
	commands["create"] = func(w wire.Args) (any, error) {
		topic := kafka.TopicConfig{Topic: w.Text(0), NumPartitions: int(w.Int(1)), ReplicationFactor: 1}
		for name, value := range w.Settings(2) {
			topic.ConfigEntries = append(topic.ConfigEntries, kafka.ConfigEntry{ConfigName: name, ConfigValue: value})
		}
		answer, err := c.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{topic}})
		if err != nil {
			return nil, err
		}
		return nil, answer.Errors[w.Text(0)]
	}
	commands["topics"] = func(wire.Args) (any, error) {
		names := []string{}
		metadata, err := c.Metadata(ctx, &kafka.MetadataRequest{})
		if err != nil {
			return nil, err
		}
		for _, t := range metadata.Topics {
			names = append(names, t.Name)
		}
		return names, nil
	}
	commands["describe"] = func(w wire.Args) (any, error) {
		ids, err := partitions(ctx, c, w.Text(0))
		return len(ids), err
	}
	commands["delete"] = func(w wire.Args) (any, error) {
		answer, err := c.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{w.Text(0)}})
		if err != nil {
			return nil, err
		}
		return nil, answer.Errors[w.Text(0)]
	}
	commands["configs"] = func(w wire.Args) (any, error) {
		found := map[string]string{}
		answer, err := c.DescribeConfigs(ctx, &kafka.DescribeConfigsRequest{Resources: []kafka.DescribeConfigRequestResource{{ResourceType: kafka.ResourceTypeTopic, ResourceName: w.Text(0)}}})
		if err != nil {
			return nil, err
		}
		for _, r := range answer.Resources {
			err = errors.Join(err, r.Error)
			for _, e := range r.ConfigEntries {
				found[e.ConfigName] = e.ConfigValue
			}
		}
		return found, err
	}
	commands["alter"] = func(w wire.Args) (any, error) {
		resource := kafka.IncrementalAlterConfigsRequestResource{ResourceType: kafka.ResourceTypeTopic, ResourceName: w.Text(0)}
		for name, value := range w.Settings(1) {
			resource.Configs = append(resource.Configs, kafka.IncrementalAlterConfigsRequestConfig{Name: name, Value: value, ConfigOperation: kafka.ConfigOperationSet})
		}
		answer, err := c.IncrementalAlterConfigs(ctx, &kafka.IncrementalAlterConfigsRequest{Resources: []kafka.IncrementalAlterConfigsRequestResource{resource}})
		if err != nil {
			return nil, err
		}
		for _, r := range answer.Resources {
			err = errors.Join(err, r.Error)
		}
		return nil, err
	}
	commands["grow"] = func(w wire.Args) (any, error) {
		answer, err := c.CreatePartitions(ctx, &kafka.CreatePartitionsRequest{Topics: []kafka.TopicPartitionsConfig{{Name: w.Text(0), Count: int32(w.Int(1))}}})
		if err != nil {
			return nil, err
		}
		return nil, answer.Errors[w.Text(0)]
	}
	commands["times"] = func(w wire.Args) (any, error) { return times(ctx, c, w.Text(0), w.Int(1)) }
	return wire.Session(commands)
}

// times gives the first offset at or after a time; kafka-go tells it as the only key of a map, -1 when there is none.
func times(ctx context.Context, c *kafka.Client, topic string, at int64) (any, error) {
	ids, err := partitions(ctx, c, topic)
	if err != nil {
		return nil, err
	}
	requests := []kafka.OffsetRequest{}
	for _, p := range ids {
		requests = append(requests, kafka.OffsetRequest{Partition: p, Timestamp: at})
	}
	answer, err := c.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{topic: requests}})
	if err != nil {
		return nil, err
	}
	found := map[int]int64{}
	for _, p := range answer.Topics[topic] {
		if p.Error != nil {
			return nil, p.Error
		}
		switch at {
		case kafka.FirstOffset:
			found[p.Partition] = p.FirstOffset
		case kafka.LastOffset:
			found[p.Partition] = p.LastOffset
		default:
			found[p.Partition] = -1
			for offset := range p.Offsets {
				found[p.Partition] = offset
			}
		}
	}
	return found, nil
}

func groupCommands(ctx context.Context, c *kafka.Client) map[string]func(wire.Args) (any, error) {
	return map[string]func(wire.Args) (any, error){
		"groups": func(wire.Args) (any, error) {
			names := []string{}
			answer, err := c.ListGroups(ctx, &kafka.ListGroupsRequest{})
			if err != nil {
				return nil, err
			}
			for _, g := range answer.Groups {
				names = append(names, g.GroupID)
			}
			return names, answer.Error
		},
		"group": func(w wire.Args) (any, error) {
			answer, err := c.DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: []string{w.Text(0)}})
			if err != nil || len(answer.Groups) != 1 {
				return nil, fmt.Errorf("not one group: %w", err)
			}
			return []any{answer.Groups[0].GroupState, len(answer.Groups[0].Members)}, answer.Groups[0].Error
		},
		"committed": func(w wire.Args) (any, error) {
			ids, err := partitions(ctx, c, w.Text(1))
			if err != nil {
				return nil, err
			}
			answer, err := c.OffsetFetch(ctx, &kafka.OffsetFetchRequest{GroupID: w.Text(0), Topics: map[string][]int{w.Text(1): ids}})
			if err != nil {
				return nil, err
			}
			found := map[int]int64{}
			for _, p := range answer.Topics[w.Text(1)] {
				found[p.Partition] = p.CommittedOffset
			}
			return found, answer.Error
		},
		"commit": func(w wire.Args) (any, error) {
			commits := []kafka.OffsetCommit{}
			for p, at := range w.Offsets(2) {
				commits = append(commits, kafka.OffsetCommit{Partition: int(p), Offset: at})
			}
			answer, err := c.OffsetCommit(ctx, &kafka.OffsetCommitRequest{GroupID: w.Text(0), GenerationID: -1, Topics: map[string][]kafka.OffsetCommit{w.Text(1): commits}})
			if err != nil {
				return nil, err
			}
			for _, p := range answer.Topics[w.Text(1)] {
				err = errors.Join(err, p.Error)
			}
			return nil, err
		},
		"forget": func(w wire.Args) (any, error) {
			answer, err := c.DeleteGroups(ctx, &kafka.DeleteGroupsRequest{GroupIDs: []string{w.Text(0)}})
			if err != nil {
				return nil, err
			}
			return nil, answer.Errors[w.Text(0)]
		},
	}
}
