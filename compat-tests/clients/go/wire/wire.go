// Package wire is what the Go clients share: rows in, records and digests out, and the commands of an admin session.
package wire

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"os"
	"sort"
	"strings"
)

// Header is one header of a record; a nil value is null.
type Header struct {
	Key   string
	Value []byte
}

// Row is one record to send; a nil key or value is null.
type Row struct {
	Key, Value []byte
	Headers    []Header
}

func raw(text *string) []byte {
	if text == nil {
		return nil
	}
	return []byte(*text)
}

func text(value []byte) any {
	if value == nil {
		return nil
	}
	return string(value)
}

// Rows reads `[key, value, headers?]` line by line from standard input.
func Rows(each func(Row) error) error {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) == 0 && err != nil {
			return nil
		}
		var parts []json.RawMessage
		if err := json.Unmarshal(line, &parts); err != nil {
			return err
		}
		var key, value *string
		if err := json.Unmarshal(parts[0], &key); err != nil {
			return err
		}
		if err := json.Unmarshal(parts[1], &value); err != nil {
			return err
		}
		row := Row{Key: raw(key), Value: raw(value)}
		if len(parts) > 2 {
			var headers [][]*string
			if err := json.Unmarshal(parts[2], &headers); err != nil {
				return err
			}
			for _, h := range headers {
				row.Headers = append(row.Headers, Header{*h[0], raw(h[1])})
			}
		}
		if err := each(row); err != nil {
			return err
		}
	}
}

// Produced prints the answer of the produce verb.
func Produced(acked, failed int64) {
	fmt.Printf("{\"acked\":%d,\"failed\":%d}\n", acked, failed)
}

// Reader prints records as they come, or their digests at the end.
type Reader struct {
	dump    bool
	out     *bufio.Writer
	encoder *json.Encoder
	hashes  map[int32]hash.Hash
	counts  map[int32]int64
}

// NewReader prepares for the given partitions; those without records are digested too.
func NewReader(dump bool, partitions []int32) *Reader {
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	r := &Reader{dump: dump, out: out, encoder: json.NewEncoder(out), hashes: map[int32]hash.Hash{}, counts: map[int32]int64{}}
	r.encoder.SetEscapeHTML(false)
	for _, p := range partitions {
		r.hashes[p] = sha256.New()
		r.counts[p] = 0
	}
	return r
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

// Add takes the next record of a partition.
func (r *Reader) Add(partition int32, offset, timestamp int64, key, value []byte, headers []Header) error {
	r.counts[partition]++
	if r.dump {
		pairs := [][]any{}
		for _, h := range headers {
			pairs = append(pairs, []any{h.Key, text(h.Value)})
		}
		return r.encoder.Encode([]any{partition, offset, timestamp, text(key), text(value), pairs})
	}
	var at [8]byte
	binary.BigEndian.PutUint64(at[:], uint64(offset))
	h := r.hashes[partition]
	h.Write(at[:])
	add(h, key)
	add(h, value)
	return nil
}

// Close prints what is left to print.
func (r *Reader) Close() error {
	if !r.dump {
		answer := map[string][]any{}
		for p, h := range r.hashes {
			answer[fmt.Sprint(p)] = []any{r.counts[p], hex.EncodeToString(h.Sum(nil))}
		}
		if err := r.encoder.Encode(answer); err != nil {
			return err
		}
	}
	return r.out.Flush()
}

// Assigned prints the partitions that a member owns now.
func Assigned[T int | int32](partitions []T) {
	list := []int{}
	for _, p := range partitions {
		list = append(list, int(p))
	}
	sort.Ints(list)
	fmt.Println("assigned", strings.ReplaceAll(fmt.Sprint(list), " ", ", "))
}

// InputEnds calls `then` when standard input is closed, which asks a member to leave.
func InputEnds(then func()) {
	go func() {
		b := make([]byte, 64)
		for {
			if _, err := os.Stdin.Read(b); err != nil {
				then()
				return
			}
		}
	}()
}

// Args are the arguments of one admin command.
type Args []json.RawMessage

func take[T any](a Args, at int) T {
	var value T
	if at >= len(a) {
		panic(fmt.Errorf("argument %d is missing", at))
	}
	if err := json.Unmarshal(a[at], &value); err != nil {
		panic(err)
	}
	return value
}

// Text is an argument that is a string.
func (a Args) Text(at int) string { return take[string](a, at) }

// Int is an argument that is a number.
func (a Args) Int(at int) int64 { return take[int64](a, at) }

// Settings is an argument that is an object of strings.
func (a Args) Settings(at int) map[string]string { return take[map[string]string](a, at) }

// Offsets is an argument that is an object from partition to offset.
func (a Args) Offsets(at int) map[int32]int64 { return take[map[int32]int64](a, at) }

// Session answers the commands of an admin session, one line each, until the input ends.
func Session(commands map[string]func(Args) (any, error)) error {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<24)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() {
		var line []json.RawMessage
		if err := json.Unmarshal(in.Bytes(), &line); err != nil {
			return err
		}
		value, err := answer(commands, Args(line))
		if err != nil {
			_ = out.Encode(map[string]any{"error": err.Error()})
		} else {
			_ = out.Encode(map[string]any{"ok": value})
		}
	}
	return in.Err()
}

func answer(commands map[string]func(Args) (any, error), line Args) (value any, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("%v", problem)
		}
	}()
	name := line.Text(0)
	command, known := commands[name]
	if !known {
		return nil, fmt.Errorf("unknown command %s", name)
	}
	return command(line[1:])
}

// Run calls the verb that the program's arguments name.
func Run(verbs map[string]func(args []string) error) {
	verb, known := verbs[os.Args[1]]
	err := fmt.Errorf("unknown verb %s", os.Args[1])
	if known {
		err = verb(os.Args[2:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Optional is an argument that may be left out.
func Optional(args []string, at int) string {
	if at < len(args) {
		return args[at]
	}
	return ""
}
