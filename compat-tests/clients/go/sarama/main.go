// Command sarama puts IBM/sarama behind the verbs that every client of the compatibility tests offers.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"dohle.compat/go/wire"
	"github.com/IBM/sarama"
)

func main() {
	wire.Run(map[string]func([]string) error{
		"produce": func(a []string) error { return produce(a[0], a[1], a[2], wire.Optional(a, 3)) },
		"digest":  func(a []string) error { return read(a[0], a[1], false) },
		"dump":    func(a []string) error { return read(a[0], a[1], true) },
		"group":   func(a []string) error { return group(a[0], a[1], a[2], wire.Optional(a, 4)) },
		"admin":   func(a []string) error { return admin(a[0]) },
	})
}

func settings() *sarama.Config {
	config := sarama.NewConfig()
	config.ClientID = "compat"
	config.Version = sarama.MaxVersion
	return config
}

func bytes(value []byte) sarama.Encoder {
	if value == nil {
		return nil
	}
	return sarama.ByteEncoder(value)
}

func produce(bootstrap, topic, codec, extra string) error {
	config := settings()
	if err := config.Producer.Compression.UnmarshalText([]byte(codec)); err != nil {
		return err
	}
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Return.Successes = true
	config.Producer.Flush.Frequency = 5 * time.Millisecond
	if extra == "idempotent" {
		config.Producer.Idempotent = true
		config.Net.MaxOpenRequests = 1
	}
	producer, err := sarama.NewAsyncProducer(strings.Split(bootstrap, ","), config)
	if err != nil {
		return err
	}
	var acked, failed int64
	done := make(chan struct{}, 2)
	go func() {
		for range producer.Successes() {
			acked++
		}
		done <- struct{}{}
	}()
	go func() {
		for err := range producer.Errors() {
			if failed++; failed == 1 {
				fmt.Fprintln(os.Stderr, err)
			}
		}
		done <- struct{}{}
	}()
	err = wire.Rows(func(row wire.Row) error {
		message := &sarama.ProducerMessage{Topic: topic, Key: bytes(row.Key), Value: bytes(row.Value)}
		for _, h := range row.Headers {
			message.Headers = append(message.Headers, sarama.RecordHeader{Key: []byte(h.Key), Value: h.Value})
		}
		producer.Input() <- message
		return nil
	})
	producer.AsyncClose()
	<-done
	<-done
	wire.Produced(acked, failed)
	return err
}

func read(bootstrap, topic string, dump bool) error {
	config := settings()
	config.Consumer.Fetch.Default = 4 << 20
	client, err := sarama.NewClient(strings.Split(bootstrap, ","), config)
	if err != nil {
		return err
	}
	defer client.Close()
	partitions, err := client.Partitions(topic)
	if err != nil {
		return err
	}
	consumer, err := sarama.NewConsumerFromClient(client)
	if err != nil {
		return err
	}
	reader := wire.NewReader(dump, partitions)
	for _, p := range partitions {
		start, err := client.GetOffset(topic, p, sarama.OffsetOldest)
		if err != nil {
			return err
		}
		end, err := client.GetOffset(topic, p, sarama.OffsetNewest)
		if err != nil {
			return err
		}
		if start == end {
			continue
		}
		if err := readPartition(consumer, reader, topic, p, start, end); err != nil {
			return err
		}
	}
	return reader.Close()
}

func readPartition(consumer sarama.Consumer, reader *wire.Reader, topic string, p int32, start, end int64) error {
	part, err := consumer.ConsumePartition(topic, p, start)
	if err != nil {
		return err
	}
	defer part.Close()
	for {
		select {
		case m := <-part.Messages():
			headers := []wire.Header{}
			for _, h := range m.Headers {
				headers = append(headers, wire.Header{Key: string(h.Key), Value: h.Value})
			}
			if err := reader.Add(p, m.Offset, m.Timestamp.UnixMilli(), m.Key, m.Value, headers); err != nil {
				return err
			}
			if m.Offset+1 >= end {
				return nil
			}
		case <-time.After(time.Minute):
			return errors.New("nothing came for a minute")
		}
	}
}

type member struct{ topic string }

func (m member) Setup(s sarama.ConsumerGroupSession) error {
	wire.Assigned(s.Claims()[m.topic])
	return nil
}

func (member) Cleanup(s sarama.ConsumerGroupSession) error {
	s.Commit()
	return nil
}

func (member) ConsumeClaim(s sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case m, open := <-claim.Messages():
			if !open {
				return nil
			}
			fmt.Println("record", m.Partition, m.Offset)
			s.MarkMessage(m, "")
		case <-s.Context().Done():
			return nil
		}
	}
}

func group(bootstrap, topic, id, instance string) error {
	config := settings()
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Interval = 200 * time.Millisecond
	config.Consumer.Group.Session.Timeout = 10 * time.Second
	config.Consumer.Group.Heartbeat.Interval = 500 * time.Millisecond
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{sarama.NewBalanceStrategyRange()}
	if instance != "" {
		config.Consumer.Group.InstanceId = instance
		config.Consumer.Group.Session.Timeout = 45 * time.Second // long enough for a restart on a busy machine
	}
	consumer, err := sarama.NewConsumerGroup(strings.Split(bootstrap, ","), id, config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	wire.InputEnds(cancel)
	for ctx.Err() == nil {
		if err := consumer.Consume(ctx, []string{topic}, member{topic}); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	if err := consumer.Close(); err != nil {
		return err
	}
	fmt.Println("closed")
	return nil
}
