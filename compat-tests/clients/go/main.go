// Command client puts franz-go behind the verbs that every client of the compatibility tests offers.
package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"os"
	"sort"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	args := os.Args[1:]
	var err error
	switch args[0] {
	case "produce":
		err = produce(args[1], args[2], args[3])
	case "digest":
		err = read(args[1], args[2], false)
	case "dump":
		err = read(args[1], args[2], true)
	case "group":
		instance := ""
		if len(args) > 5 {
			instance = args[5]
		}
		err = group(args[1], args[2], args[3], args[4], instance)
	default:
		err = fmt.Errorf("unknown verb %s", args[0])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
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

func raw(text *string) []byte {
	if text == nil {
		return nil
	}
	return []byte(*text)
}

func produce(bootstrap, topic, name string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(bootstrap, ",")...),
		kgo.ProducerBatchCompression(codec(name)), kgo.ProducerLinger(5*time.Millisecond), kgo.DefaultProduceTopic(topic))
	if err != nil {
		return err
	}
	defer client.Close()
	var acked, failed atomic.Int64
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) == 0 && err != nil {
			break
		}
		var row []json.RawMessage
		if err := json.Unmarshal(line, &row); err != nil {
			return err
		}
		var key, value *string
		if err := json.Unmarshal(row[0], &key); err != nil {
			return err
		}
		if err := json.Unmarshal(row[1], &value); err != nil {
			return err
		}
		record := &kgo.Record{Key: raw(key), Value: raw(value)}
		if len(row) > 2 {
			var headers [][]*string
			if err := json.Unmarshal(row[2], &headers); err != nil {
				return err
			}
			for _, h := range headers {
				record.Headers = append(record.Headers, kgo.RecordHeader{Key: *h[0], Value: raw(h[1])})
			}
		}
		client.Produce(context.Background(), record, func(_ *kgo.Record, err error) {
			if err == nil {
				acked.Add(1)
			} else if failed.Add(1) == 1 {
				fmt.Fprintln(os.Stderr, err)
			}
		})
	}
	if err := client.Flush(context.Background()); err != nil {
		return err
	}
	fmt.Printf("{\"acked\":%d,\"failed\":%d}\n", acked.Load(), failed.Load())
	return nil
}

func add(h hash.Hash, value []byte) {
	var size [4]byte
	length := int32(-1)
	if value != nil {
		length = int32(len(value))
	}
	binary.BigEndian.PutUint32(size[:], uint32(length))
	h.Write(size[:])
	h.Write(value)
}

func text(value []byte) any {
	if value == nil {
		return nil
	}
	return string(value)
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
	hashes := map[int32]hash.Hash{}
	counts := map[int32]int64{}
	from := map[int32]kgo.Offset{}
	last := map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		hashes[o.Partition] = sha256.New()
		counts[o.Partition] = 0
		start, _ := starts.Lookup(topic, o.Partition)
		if start.Offset < o.Offset {
			from[o.Partition] = kgo.NewOffset().At(start.Offset)
			last[o.Partition] = o.Offset
			left++
		}
	})
	client.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: from})
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for left > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset >= last[r.Partition] {
				return
			}
			counts[r.Partition]++
			if r.Offset == last[r.Partition]-1 {
				left--
			}
			if dump {
				headers := [][]any{}
				for _, h := range r.Headers {
					headers = append(headers, []any{h.Key, text(h.Value)})
				}
				_ = encoder.Encode([]any{r.Partition, r.Offset, r.Timestamp.UnixMilli(), text(r.Key), text(r.Value), headers})
				return
			}
			var offset [8]byte
			binary.BigEndian.PutUint64(offset[:], uint64(r.Offset))
			h := hashes[r.Partition]
			h.Write(offset[:])
			add(h, r.Key)
			add(h, r.Value)
		})
	}
	if !dump {
		answer := map[string][]any{}
		for p, h := range hashes {
			answer[fmt.Sprint(p)] = []any{counts[p], hex.EncodeToString(h.Sum(nil))}
		}
		return encoder.Encode(answer)
	}
	return nil
}

func group(bootstrap, topic, id, mode, instance string) error {
	balancer := kgo.GroupBalancer(kgo.RangeBalancer())
	if mode == "cooperative" {
		balancer = kgo.CooperativeStickyBalancer()
	}
	assigned := map[int32]bool{}
	print := func() {
		list := []int{}
		for p := range assigned {
			list = append(list, int(p))
		}
		sort.Ints(list)
		fmt.Println("assigned", strings.ReplaceAll(fmt.Sprint(list), " ", ", "))
	}
	gone := func(_ context.Context, c *kgo.Client, lost map[string][]int32) {
		_ = c.CommitUncommittedOffsets(context.Background())
		for _, p := range lost[topic] {
			delete(assigned, p)
		}
		print()
	}
	options := []kgo.Opt{kgo.SeedBrokers(strings.Split(bootstrap, ",")...), kgo.ConsumerGroup(id), kgo.ConsumeTopics(topic),
		kgo.Balancers(balancer), kgo.SessionTimeout(10 * time.Second), kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.OnPartitionsRevoked(gone), kgo.OnPartitionsLost(gone),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, got map[string][]int32) {
			for _, p := range got[topic] {
				assigned[p] = true
			}
			print()
		})}
	if instance != "" {
		options = append(options, kgo.InstanceID(instance))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		b := make([]byte, 64)
		for {
			if _, err := os.Stdin.Read(b); err != nil {
				cancel()
				return
			}
		}
	}()
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
