// Methods, closures, interfaces and inlined functions.
package main

import (
	"errors"
	"fmt"
	"os"
	"sort"
)

type lane interface {
	length() int
}

type road struct {
	parts []int
}

func (r *road) length() int {
	return sum(r.parts, func(part int) int { return part * 2 })
}

type path int

func (p path) length() int { return wrapped(int(p), 7) }

func wrapped(value, limit int) int {
	if value >= limit {
		return value % limit
	}
	return value
}

func sum(values []int, weight func(int) int) (total int) {
	for _, value := range values {
		total += weight(value)
	}
	return
}

//go:noinline
func longest(lanes []lane) (lane, error) {
	if len(lanes) == 0 {
		return nil, errors.New("no lanes")
	}
	sort.Slice(lanes, func(a, b int) bool { return lanes[a].length() > lanes[b].length() })
	return lanes[0], nil
}

func main() {
	lanes := []lane{path(len(os.Args)), &road{[]int{1, 2, 3}}}
	found, err := longest(lanes)
	fmt.Println(found.length(), err)
}
