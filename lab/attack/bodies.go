package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Limits on the cost of a hostile body.
const (
	bodyTime   = 500 * time.Millisecond // processor time, where known
	bodyWait   = 5 * time.Second        // elapsed time, even if the machine is busy
	bodyMemory = 64 << 20
	bodyAnswer = 10_000
)

// hostileBody is a JSON body that no client would send.
type hostileBody struct {
	what string
	make func(o operation, d *document) []byte
}

func hostileBodies() []hostileBody {
	same := func(b []byte) func(operation, *document) []byte {
		return func(operation, *document) []byte { return b }
	}
	return []hostileBody{
		{"80,000 unknown keys", same(keysBody(80_000))},
		{"5,000 unknown keys", same(keysBody(5_000))},
		{"a key 80,000 times", same([]byte("{" + strings.Repeat(`"a":1,`, 79_999) + `"a":1}`))},
		{"nested 100,000 deep", same([]byte(strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000)))},
		{"lists nested 100,000 deep", same([]byte(strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)))},
		{"cut short", same([]byte(`{"name":"a`))},
		{"not UTF-8", same([]byte("{\"name\":\"\xff\xfe\"}"))},
		{"nothing", same(nil)},
		{"null", same([]byte("null"))},
		{"a list", same([]byte("[]"))},
		{"two objects", same([]byte("{}{}"))},
		{"a key of 900 kB", same([]byte(`{"` + strings.Repeat("k", 900_000) + `":1}`))},
		{"4 MB", same(bytes.Repeat([]byte(" "), 4<<20))},
		{"80,000 elements of the wrong kind", ofEach(strings.TrimSuffix(strings.Repeat("{},", 80_000), ","), true)},
		{"lists within lists", ofEach("[[1],[1]],[[1],[1]]", true)},
		{"20,000 unknown words", ofEach(strings.TrimSuffix(strings.Repeat(`"zz",`, 20_000), ","), true)},
		{"a number of 60,000 digits", ofEach(strings.Repeat("9", 60_000), false)},
		{"1e999999999", ofEach("1e999999999", false)},
		{"-1e400", ofEach("-1e400", false)},
		{"a text of 60,000 characters", ofEach(`"`+strings.Repeat("x", 60_000)+`"`, false)},
		{"an object", ofEach(`{"a":{"a":{}}}`, false)},
	}
}

func keysBody(n int) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for i := range n {
		fmt.Fprintf(&b, `"k%d":1,`, i)
	}
	b.WriteString(`"k":1}`)
	return b.Bytes()
}

// ofEach assigns the value to each property of an operation's body, or a list of it to a property that is a list.
func ofEach(value string, listed bool) func(operation, *document) []byte {
	return func(o operation, d *document) []byte {
		var parts []string
		for _, name := range sortedKeys(o.body.Properties) {
			v := value
			if d.resolve(o.body.Properties[name]).Items != nil || listed {
				v = "[" + value + "]"
			}
			parts = append(parts, strconv.Quote(name)+":"+v)
		}
		return []byte("{" + strings.Join(parts, ",") + "}")
	}
}

// attackBodies sends each hostile body to every operation that takes JSON, as an administrator.
func attackBodies(ctx context.Context, t *target, r *result) error {
	type call struct {
		o operation
		b hostileBody
	}
	var all []call
	for _, b := range hostileBodies() {
		for _, o := range t.doc.operations {
			if o.json {
				all = append(all, call{o, b})
			}
		}
	}
	return each(t, r, all, func(c call) error { return t.sendBody(ctx, r, c.o, c.b) })
}

func (t *target) sendBody(ctx context.Context, r *result, o operation, b hostileBody) error {
	body := b.make(o, t.doc)
	if body != nil && len(o.body.Properties) == 0 && bytes.Equal(body, []byte("{}")) {
		return nil // the body has no property that could be wrong
	}
	var a answer
	var grew int64
	for try := range 2 { // the machine might have been busy
		before, worked := t.resident(true), t.worked()
		var err error
		a, err = t.raw(ctx, t.admin, o.method, o.address(), "application/json", body)
		r.tries++
		if err != nil {
			r.fault("%s %s with %s: request failed: %v", o.method, o.path, b.what, err)
			return ctx.Err()
		}
		grew = t.resident(false) - before
		if after := t.worked(); worked >= 0 && after >= worked && a.took <= bodyWait {
			a.took = min(a.took, after-worked)
		}
		if a.took <= bodyTime && grew <= bodyMemory {
			break
		}
		if try == 1 {
			r.count("slow or large", 1)
		}
	}
	r.count(fmt.Sprintf("status %d", a.status), 1)
	// For a subject that does not exist, and for a valid body, any status below 500 is right.
	switch {
	case a.status >= 500:
		r.fault("%s %s with %s: status %d: %.100s", o.method, o.path, b.what, a.status, a.body)
	case len(a.body) > bodyAnswer:
		r.fault("%s %s with %s: response has %d bytes", o.method, o.path, b.what, len(a.body))
	case a.took > bodyTime:
		r.fault("%s %s with %s: took %s in each of two tries", o.method, o.path, b.what, a.took.Round(time.Millisecond))
	case grew > bodyMemory:
		r.fault("%s %s with %s: used %d MiB in each of two tries", o.method, o.path, b.what, grew>>20)
	case a.status < 400:
		r.fault("%s %s with %s: accepted with status %d", o.method, o.path, b.what, a.status)
	}
	return nil
}

// worked returns the processor time that the site has used, in steps of ten milliseconds. On a busy machine, it shows the cost of a call
// better than elapsed time does. It is negative if the site was not created here or the system does not report the time.
func (t *target) worked() time.Duration {
	if t.process == nil {
		return -1
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", t.process.Process.Pid))
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])) // fields after the name, starting with the state
	if err != nil || len(fields) < 13 {
		return -1
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	if err != nil || err2 != nil {
		return -1
	}
	return time.Duration(user+system) * 10 * time.Millisecond // USER_HZ is 100 on every Linux system that Go supports
}

var peak, now = regexp.MustCompile(`VmHWM:\s+(\d+) kB`), regexp.MustCompile(`VmRSS:\s+(\d+) kB`)

// resident returns the site's memory in bytes. If begin is set, it returns the current size and resets the record of the peak; otherwise,
// it returns the peak. It returns 0 if the site was not created here or the system does not report the memory.
func (t *target) resident(begin bool) int64 {
	if t.process == nil {
		return 0
	}
	proc := fmt.Sprintf("/proc/%d/", t.process.Process.Pid)
	which := peak
	if begin {
		which = now
		if os.WriteFile(proc+"clear_refs", []byte("5"), 0) != nil {
			return 0
		}
	}
	b, err := os.ReadFile(proc + "status")
	m := which.FindSubmatch(b)
	if err != nil || m == nil {
		return 0
	}
	kb, err := strconv.ParseInt(string(m[1]), 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return 0
	}
	return kb << 10
}
