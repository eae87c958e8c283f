package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"dohle.compat/go/wire"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// listed gives the offsets of a topic by partition, or the first error.
func listed(offsets kadm.ListedOffsets, topic string, err error) (any, error) {
	answer := map[int32]int64{}
	if err == nil {
		err = offsets.Error()
	}
	for p, o := range offsets[topic] {
		answer[p] = o.Offset
	}
	return answer, err
}

func admin(bootstrap string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(bootstrap, ",")...))
	if err != nil {
		return err
	}
	defer client.Close()
	a := kadm.NewClient(client)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	return wire.Session(map[string]func(wire.Args) (any, error){
		"create": func(w wire.Args) (any, error) {
			settings := map[string]*string{}
			for name, value := range w.Settings(2) {
				settings[name] = &value
			}
			answer, err := a.CreateTopic(ctx, int32(w.Int(1)), 1, settings, w.Text(0))
			return nil, errors.Join(err, answer.Err)
		},
		"topics": func(wire.Args) (any, error) {
			topics, err := a.ListTopics(ctx)
			return topics.Names(), err
		},
		"describe": func(w wire.Args) (any, error) {
			topics, err := a.ListTopics(ctx, w.Text(0))
			if err == nil {
				err = topics.Error()
			}
			return len(topics[w.Text(0)].Partitions), err
		},
		"delete": func(w wire.Args) (any, error) {
			answer, err := a.DeleteTopic(ctx, w.Text(0))
			return nil, errors.Join(err, answer.Err)
		},
		"configs": func(w wire.Args) (any, error) {
			answer := map[string]string{}
			all, err := a.DescribeTopicConfigs(ctx, w.Text(0))
			if err != nil {
				return nil, err
			}
			one, err := all.On(w.Text(0), nil)
			for _, c := range one.Configs {
				answer[c.Key] = c.MaybeValue()
			}
			return answer, errors.Join(err, one.Err)
		},
		"alter": func(w wire.Args) (any, error) {
			changes := []kadm.AlterConfig{}
			for name, value := range w.Settings(1) {
				changes = append(changes, kadm.AlterConfig{Op: kadm.SetConfig, Name: name, Value: &value})
			}
			all, err := a.AlterTopicConfigs(ctx, changes, w.Text(0))
			if err != nil {
				return nil, err
			}
			one, err := all.On(w.Text(0), nil)
			return nil, errors.Join(err, one.Err)
		},
		"grow": func(w wire.Args) (any, error) {
			answer, err := a.UpdatePartitions(ctx, int(w.Int(1)), w.Text(0))
			if err == nil {
				err = answer.Error()
			}
			return nil, err
		},
		"truncate": func(w wire.Args) (any, error) {
			offsets := kadm.Offsets{}
			offsets.AddOffset(w.Text(0), int32(w.Int(1)), w.Int(2), -1)
			answer, err := a.DeleteRecords(ctx, offsets)
			if err == nil {
				err = answer.Error()
			}
			return nil, err
		},
		"times": func(w wire.Args) (any, error) {
			switch w.Int(1) {
			case -1:
				offsets, err := a.ListEndOffsets(ctx, w.Text(0))
				return listed(offsets, w.Text(0), err)
			case -2:
				offsets, err := a.ListStartOffsets(ctx, w.Text(0))
				return listed(offsets, w.Text(0), err)
			}
			offsets, err := a.ListOffsetsAfterMilli(ctx, w.Int(1), w.Text(0))
			return listed(offsets, w.Text(0), err)
		},
		"groups": func(wire.Args) (any, error) {
			groups, err := a.ListGroups(ctx)
			return groups.Groups(), err
		},
		"group": func(w wire.Args) (any, error) {
			groups, err := a.DescribeGroups(ctx, w.Text(0))
			if err == nil {
				err = groups.Error()
			}
			one := groups[w.Text(0)]
			return []any{one.State, len(one.Members)}, err
		},
		"committed": func(w wire.Args) (any, error) {
			answer := map[int32]int64{}
			offsets, err := a.FetchOffsets(ctx, w.Text(0))
			if err == nil {
				err = offsets.Error()
			}
			for p, o := range offsets[w.Text(1)] {
				answer[p] = o.At
			}
			return answer, err
		},
		"commit": func(w wire.Args) (any, error) {
			offsets := kadm.Offsets{}
			for p, at := range w.Offsets(2) {
				offsets.AddOffset(w.Text(1), p, at, -1)
			}
			answer, err := a.CommitOffsets(ctx, w.Text(0), offsets)
			if err == nil {
				err = answer.Error()
			}
			return nil, err
		},
		"forget": func(w wire.Args) (any, error) {
			answer, err := a.DeleteGroup(ctx, w.Text(0))
			return nil, errors.Join(err, answer.Err)
		},
		"producers": func(w wire.Args) (any, error) {
			topics := kadm.TopicsSet{}
			topics.Add(w.Text(0), 0)
			answer, err := a.DescribeProducers(ctx, topics)
			if err != nil {
				return nil, err
			}
			one := answer[w.Text(0)].Partitions[0]
			return len(one.ActiveProducers), one.Err
		},
	})
}
