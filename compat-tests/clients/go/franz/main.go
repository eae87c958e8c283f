// Command franz puts franz-go behind the verbs that every client of the compatibility tests offers.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"dohle.compat/go/wire"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	wire.Run(map[string]func([]string) error{
		"produce":      func(a []string) error { return produce(a[0], a[1], a[2], wire.Optional(a, 3)) },
		"digest":       func(a []string) error { return read(a[0], a[1], false) },
		"dump":         func(a []string) error { return read(a[0], a[1], true) },
		"group":        func(a []string) error { return group(a[0], a[1], a[2], a[3], wire.Optional(a, 4)) },
		"admin":        func(a []string) error { return admin(a[0]) },
		"transactions": func(a []string) error { return transactions(a[0], a[1], a[2]) },
		"committed":    func(a []string) error { return committed(a[0], a[1], a[2]) },
		"copy":         func(a []string) error { return duplicate(a[0], a[1], a[2], a[3], a[4], a[6]) },
	})
}

func codec(name string) kgo.CompressionCodec {
	switch name {
	case "gzip":
		return kgo.GzipCompression()
	case "snappy":
		return kgo.SnappyCompression()
	case "lz4":
		return kgo.Lz4Compression()
	case "zstd":
		return kgo.ZstdCompression()
	}
	return kgo.NoCompression()
}

// produce is idempotent as franz-go is by itself; "plain" switches that off.
func produce(bootstrap, topic, name, extra string) error {
	options := []kgo.Opt{kgo.SeedBrokers(strings.Split(bootstrap, ",")...),
		kgo.ProducerBatchCompression(codec(name)), kgo.ProducerLinger(5 * time.Millisecond), kgo.DefaultProduceTopic(topic)}
	if extra == "plain" {
		options = append(options, kgo.DisableIdempotentWrite())
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	defer client.Close()
	var acked, failed atomic.Int64
	err = wire.Rows(func(row wire.Row) error {
		record := &kgo.Record{Key: row.Key, Value: row.Value}
		for _, h := range row.Headers {
			record.Headers = append(record.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
		}
		client.Produce(context.Background(), record, func(_ *kgo.Record, err error) {
			if err == nil {
				acked.Add(1)
			} else if failed.Add(1) == 1 {
				fmt.Fprintln(os.Stderr, err)
			}
		})
		return nil
	})
	if err != nil {
		return err
	}
	if err := client.Flush(context.Background()); err != nil {
		return err
	}
	wire.Produced(acked.Load(), failed.Load())
	return nil
}

func read(bootstrap, topic string, dump bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(bootstrap, ",")...))
	if err != nil {
		return err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	starts, err := admin.ListStartOffsets(ctx, topic)
	if err != nil {
		return err
	}
	ends, err := admin.ListEndOffsets(ctx, topic)
	if err != nil {
		return err
	}
	left := 0
	partitions := []int32{}
	from := map[int32]kgo.Offset{}
	last := map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		partitions = append(partitions, o.Partition)
		start, _ := starts.Lookup(topic, o.Partition)
		if start.Offset < o.Offset {
			from[o.Partition] = kgo.NewOffset().At(start.Offset)
			last[o.Partition] = o.Offset
			left++
		}
	})
	client.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: from})
	reader := wire.NewReader(dump, partitions)
	for left > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset >= last[r.Partition] {
				return
			}
			if r.Offset == last[r.Partition]-1 {
				left--
			}
			headers := []wire.Header{}
			for _, h := range r.Headers {
				headers = append(headers, wire.Header{Key: h.Key, Value: h.Value})
			}
			_ = reader.Add(r.Partition, r.Offset, r.Timestamp.UnixMilli(), r.Key, r.Value, headers)
		})
	}
	return reader.Close()
}

func group(bootstrap, topic, id, mode, instance string) error {
	balancer := kgo.GroupBalancer(kgo.RangeBalancer())
	if mode == "cooperative" {
		balancer = kgo.CooperativeStickyBalancer()
	}
	assigned := map[int32]bool{}
	print := func() {
		list := []int32{}
		for p := range assigned {
			list = append(list, p)
		}
		wire.Assigned(list)
	}
	gone := func(_ context.Context, c *kgo.Client, lost map[string][]int32) {
		_ = c.CommitUncommittedOffsets(context.Background())
		for _, p := range lost[topic] {
			delete(assigned, p)
		}
		print()
	}
	options := []kgo.Opt{kgo.SeedBrokers(strings.Split(bootstrap, ",")...), kgo.ConsumerGroup(id), kgo.ConsumeTopics(topic),
		kgo.Balancers(balancer), kgo.SessionTimeout(10 * time.Second), kgo.HeartbeatInterval(500 * time.Millisecond),
		kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.OnPartitionsRevoked(gone), kgo.OnPartitionsLost(gone),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, got map[string][]int32) {
			for _, p := range got[topic] {
				assigned[p] = true
			}
			print()
		})}
	if mode == "consumer" {
		options = append(options, kgo.ServerSideBalancer()) // the broker says when and how (KIP-848)
	}
	if instance != "" {
		options = append(options, kgo.InstanceID(instance), kgo.SessionTimeout(45*time.Second)) // long enough for a restart on a busy machine
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	wire.InputEnds(cancel)
	for ctx.Err() == nil {
		poll, stop := context.WithTimeout(ctx, 200*time.Millisecond)
		fetches := client.PollFetches(poll)
		stop()
		fetches.EachRecord(func(r *kgo.Record) { fmt.Println("record", r.Partition, r.Offset) })
		if err := client.CommitUncommittedOffsets(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, "commit:", err)
		}
		client.AllowRebalance()
	}
	client.Close()
	fmt.Println("closed")
	return nil
}
