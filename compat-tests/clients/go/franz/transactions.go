package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"strconv"
	"strings"
	"time"

	"dohle.compat/go/wire"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// transactions is a transactional producer that is told what to do, one line each.
func transactions(bootstrap, name, timeout string) error {
	limit, err := time.ParseDuration(timeout + "ms")
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(bootstrap, ",")...), kgo.TransactionalID(name),
		kgo.TransactionTimeout(limit), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if _, _, err := client.ProducerID(ctx); err != nil {
		return err
	}
	failed := make(chan error, 1000)
	end := func(how kgo.TransactionEndTry) (any, error) {
		if err := client.Flush(ctx); err != nil {
			return nil, err
		}
		return nil, client.EndTransaction(ctx, how)
	}
	return wire.Session(map[string]func(wire.Args) (any, error){
		"begin": func(wire.Args) (any, error) { return nil, client.BeginTransaction() },
		"send": func(w wire.Args) (any, error) {
			record := &kgo.Record{Topic: w.Text(0), Partition: int32(w.Int(1)), Value: []byte(w.Text(2))}
			client.Produce(ctx, record, func(_ *kgo.Record, err error) {
				if err != nil {
					failed <- err
				}
			})
			return nil, nil
		},
		"flush": func(wire.Args) (any, error) {
			if err := client.Flush(ctx); err != nil {
				return nil, err
			}
			select {
			case err := <-failed:
				return nil, err
			default:
				return nil, nil
			}
		},
		"offsets": func(w wire.Args) (any, error) {
			return nil, offsets(ctx, client, name, w.Text(0), w.Text(1), w.Offsets(2))
		},
		"commit": func(wire.Args) (any, error) { return end(kgo.TryCommit) },
		"abort":  func(wire.Args) (any, error) { return end(kgo.TryAbort) },
	})
}

// offsets commits a group's offsets in the transaction; the version of the request has the group join it.
func offsets(ctx context.Context, client *kgo.Client, name, group, topic string, at map[int32]int64) error {
	id, epoch, err := client.ProducerID(ctx)
	if err != nil {
		return err
	}
	request := kmsg.NewPtrTxnOffsetCommitRequest()
	request.TransactionalID, request.Group = name, group
	request.ProducerID, request.ProducerEpoch = id, epoch
	// The newest version of the request names topics by id.
	topics, err := kadm.NewClient(client).ListTopics(ctx, topic)
	if err != nil {
		return err
	}
	wanted := kmsg.NewTxnOffsetCommitRequestTopic()
	wanted.Topic, wanted.TopicID = topic, topics[topic].ID
	for partition, offset := range at {
		one := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		one.Partition, one.Offset = partition, offset
		wanted.Partitions = append(wanted.Partitions, one)
	}
	request.Topics = append(request.Topics, wanted)
	answer, err := request.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	for _, t := range answer.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return err
			}
		}
	}
	return nil
}

// committed prints the values of committed records by partition, in order.
func committed(bootstrap, topic, last string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(bootstrap, ",")...), kgo.ConsumeTopics(topic),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	defer client.Close()
	values := map[int32][]string{}
	open := 2
	for deadline := time.Now().Add(time.Minute); open > 0; {
		ctx, cancel := context.WithDeadline(context.Background(), deadline)
		fetches := client.PollFetches(ctx)
		cancel()
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("%w with %v", err, values)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			values[r.Partition] = append(values[r.Partition], string(r.Value))
			if string(r.Value) == last {
				open--
			}
		})
	}
	line, err := json.Marshal(values)
	fmt.Println(string(line))
	return err
}

// duplicate copies a topic into another exactly once: what is read, and how far, is one transaction with what is written.
func duplicate(bootstrap, source, target, group, name, size string) error {
	count, err := strconv.Atoi(size)
	if err != nil {
		return err
	}
	session, err := kgo.NewGroupTransactSession(kgo.SeedBrokers(strings.Split(bootstrap, ",")...), kgo.TransactionalID(name),
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(source), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.RequireStableFetchOffsets(), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.SessionTimeout(3*time.Second), kgo.HeartbeatInterval(300*time.Millisecond))
	if err != nil {
		return err
	}
	defer session.Close()
	ctx := context.Background()
	for {
		fetches := session.PollRecords(ctx, count)
		if fetches.NumRecords() == 0 {
			continue
		}
		if err := session.Begin(); err != nil {
			return err
		}
		first := kgo.AbortingFirstErrPromise(session.Client())
		fetches.EachRecord(func(r *kgo.Record) {
			session.Produce(ctx, &kgo.Record{Topic: target, Partition: r.Partition, Value: r.Value}, first.Promise())
		})
		commit := first.Err() == nil && rand.Intn(3) > 0
		if _, err := session.End(ctx, kgo.TransactionEndTry(commit)); err != nil {
			return err
		}
	}
}
