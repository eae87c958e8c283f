// Command kafkago puts segmentio/kafka-go behind the verbs that every client of the compatibility tests offers.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"dohle.compat/go/wire"
	"github.com/segmentio/kafka-go"
)

func main() {
	wire.Run(map[string]func([]string) error{
		"produce": func(a []string) error { return produce(a[0], a[1], a[2]) },
		"digest":  func(a []string) error { return read(a[0], a[1], false) },
		"dump":    func(a []string) error { return read(a[0], a[1], true) },
		"group":   func(a []string) error { return group(a[0], a[1], a[2]) },
		"admin":   func(a []string) error { return admin(a[0]) },
	})
}

func produce(bootstrap, topic, codec string) error {
	var compression kafka.Compression
	if codec != "none" {
		if err := compression.UnmarshalText([]byte(codec)); err != nil {
			return err
		}
	}
	writer := &kafka.Writer{Addr: kafka.TCP(strings.Split(bootstrap, ",")...), Topic: topic, Balancer: kafka.Murmur2Balancer{},
		Compression: compression, RequiredAcks: kafka.RequireAll, BatchTimeout: 5 * time.Millisecond, BatchSize: 1000}
	var acked, failed int64
	messages := []kafka.Message{}
	send := func() {
		err := writer.WriteMessages(context.Background(), messages...)
		if err == nil {
			acked += int64(len(messages))
		} else {
			failed += int64(len(messages))
			fmt.Fprintln(os.Stderr, err)
		}
		messages = messages[:0]
	}
	err := wire.Rows(func(row wire.Row) error {
		message := kafka.Message{Key: row.Key, Value: row.Value}
		for _, h := range row.Headers {
			message.Headers = append(message.Headers, kafka.Header{Key: h.Key, Value: h.Value})
		}
		if messages = append(messages, message); len(messages) >= 5000 {
			send()
		}
		return nil
	})
	if len(messages) > 0 {
		send()
	}
	wire.Produced(acked, failed)
	return errors.Join(err, writer.Close())
}

// ends gives the first and the next offset of every partition of a topic.
func ends(ctx context.Context, client *kafka.Client, topic string) (map[int][2]int64, error) {
	answer := map[int][2]int64{}
	metadata, err := client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{topic}})
	if err != nil {
		return nil, err
	}
	requests := []kafka.OffsetRequest{}
	for _, t := range metadata.Topics {
		if t.Error != nil {
			return nil, t.Error
		}
		for _, p := range t.Partitions {
			requests = append(requests, kafka.FirstOffsetOf(p.ID), kafka.LastOffsetOf(p.ID))
		}
	}
	offsets, err := client.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{topic: requests}})
	if err != nil {
		return nil, err
	}
	for _, p := range offsets.Topics[topic] {
		if p.Error != nil {
			return nil, p.Error
		}
		answer[p.Partition] = [2]int64{p.FirstOffset, p.LastOffset}
	}
	return answer, nil
}

func read(bootstrap, topic string, dump bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	brokers := strings.Split(bootstrap, ",")
	found, err := ends(ctx, &kafka.Client{Addr: kafka.TCP(brokers...)}, topic)
	if err != nil {
		return err
	}
	partitions := []int32{}
	for p := range found {
		partitions = append(partitions, int32(p))
	}
	reader := wire.NewReader(dump, partitions)
	for p, range_ := range found {
		if range_[0] == range_[1] {
			continue
		}
		from := kafka.NewReader(kafka.ReaderConfig{Brokers: brokers, Topic: topic, Partition: p, MinBytes: 1, MaxBytes: 4 << 20, MaxWait: 500 * time.Millisecond})
		if err := from.SetOffset(range_[0]); err != nil {
			return err
		}
		for {
			m, err := from.ReadMessage(ctx)
			if err != nil {
				return err
			}
			headers := []wire.Header{}
			for _, h := range m.Headers {
				headers = append(headers, wire.Header{Key: h.Key, Value: h.Value})
			}
			if err := reader.Add(int32(p), m.Offset, m.Time.UnixMilli(), m.Key, m.Value, headers); err != nil {
				return err
			}
			if m.Offset+1 >= range_[1] {
				break
			}
		}
		if err := from.Close(); err != nil {
			return err
		}
	}
	return reader.Close()
}

func group(bootstrap, topic, id string) error {
	brokers := strings.Split(bootstrap, ",")
	consumer, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{ID: id, Brokers: brokers, Topics: []string{topic},
		GroupBalancers: []kafka.GroupBalancer{kafka.RangeGroupBalancer{}}, SessionTimeout: 10 * time.Second,
		HeartbeatInterval: 500 * time.Millisecond, RebalanceTimeout: 10 * time.Second, JoinGroupBackoff: 200 * time.Millisecond,
		StartOffset: kafka.FirstOffset})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	wire.InputEnds(cancel)
	for ctx.Err() == nil {
		generation, err := consumer.Next(ctx)
		if err != nil {
			if ctx.Err() == nil {
				fmt.Fprintln(os.Stderr, err)
			}
			continue
		}
		owned := []int{}
		for _, a := range generation.Assignments[topic] {
			owned = append(owned, a.ID)
			generation.Start(func(gone context.Context) { follow(ctx, gone, generation, brokers, topic, a) })
		}
		wire.Assigned(owned)
	}
	if err := consumer.Close(); err != nil {
		return err
	}
	fmt.Println("closed")
	return nil
}

// follow reads one partition and commits until the generation or the program ends.
func follow(asked, gone context.Context, generation *kafka.Generation, brokers []string, topic string, a kafka.PartitionAssignment) {
	reader := kafka.NewReader(kafka.ReaderConfig{Brokers: brokers, Topic: topic, Partition: a.ID, MinBytes: 1, MaxBytes: 4 << 20, MaxWait: 200 * time.Millisecond})
	defer reader.Close()
	if err := reader.SetOffset(a.Offset); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	ctx, cancel := context.WithCancel(gone)
	defer cancel()
	stop := context.AfterFunc(asked, cancel)
	defer stop()
	next, committed := a.Offset, a.Offset
	for ctx.Err() == nil {
		wait, done := context.WithTimeout(ctx, 200*time.Millisecond)
		m, err := reader.ReadMessage(wait)
		done()
		if err == nil {
			fmt.Println("record", m.Partition, m.Offset)
			next = m.Offset + 1
		}
		if next != committed && (err != nil || next-committed >= 50) {
			if err := generation.CommitOffsets(map[string]map[int]int64{topic: {a.ID: next}}); err != nil {
				fmt.Fprintln(os.Stderr, "commit:", err)
				continue
			}
			committed = next
		}
	}
	if next != committed {
		if err := generation.CommitOffsets(map[string]map[int]int64{topic: {a.ID: next}}); err != nil {
			fmt.Fprintln(os.Stderr, "commit:", err)
		}
	}
}
