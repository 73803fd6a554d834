// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Bounds for flattened keys, which a hostile sender chooses.
const (
	maxFlatIndex = 10_000
	maxFlatDepth = 16
)

// flatKey is an attribute, with the part of its key behind a prefix.
type flatKey struct {
	path  string
	value pcommon.Value
}

// flatNode is a node of the tree that keys such as llm.input_messages.0.message.role span. It holds the keys
// at and below the node, in the order of comparePaths.
type flatNode struct {
	keys []flatKey
	at   int // where the name of a child begins in a path
}

// Unflatten rebuilds the value whose keys begin with a prefix ("llm.input_messages."). A node whose names are all indices becomes an
// array; gaps between indices are closed. The value is absent if no key has the prefix.
func (a Attributes) Unflatten(prefix string) exactjson.Value { return a.unflatten(prefix).json() }

// UnflattenList is Unflatten for a list of messages. before are the places of those before which one number is missing.
func (a Attributes) UnflattenList(prefix string) (list exactjson.Value, before []int) {
	root := a.unflatten(prefix)
	list = root.json()
	if list.Kind() != exactjson.Array {
		return list, nil
	}
	place, previous := 0, 0
	for name := range root.children {
		number, _ := indexOf(name)
		if place > 0 && number == previous+2 {
			before = append(before, place)
		}
		place, previous = place+1, number
	}
	return list, before
}

// LeavesOut reports that of the value whose keys begin with a prefix an element of a list is left out: places before it and after it have keys. Those who write a
// key for each member have none for null, an empty list or an empty object.
func (a Attributes) LeavesOut(prefix string) bool { return a.unflatten(prefix).leavesOut() }

func (n flatNode) leavesOut() bool {
	isList, first, last, count := true, false, 0, 0
	for name, child := range n.children {
		if child.leavesOut() {
			return true
		}
		at, ok := indexOf(name)
		isList, first, last = isList && ok, first || name == "0", max(last, at)
		count++
	}
	return isList && first && last >= count
}

func (a Attributes) unflatten(prefix string) flatNode {
	var keys []flatKey
	for key, v := range a.All() {
		if path, ok := strings.CutPrefix(key, prefix); ok && path != "" && withinBounds(path) {
			keys = append(keys, flatKey{path, v})
		}
	}
	slices.SortStableFunc(keys, func(x, y flatKey) int { return comparePaths(x.path, y.path) })
	return flatNode{keys: keys}
}

// withinBounds reports a path that is neither too deep nor has an index that is too large.
func withinBounds(path string) bool {
	for depth := 1; ; depth++ {
		name, rest, more := strings.Cut(path, ".")
		if depth > maxFlatDepth || indexTooLarge(name) {
			return false
		}
		if !more {
			return true
		}
		path = rest
	}
}

// comparePaths orders paths by their first names that differ: indices by number, before all other names. A
// path comes before those that go on behind it.
func comparePaths(x, y string) int {
	common := 0
	for common < len(x) && common < len(y) && x[common] == y[common] {
		common++
	}
	begin := strings.LastIndexByte(x[:common], '.') + 1
	a, _, _ := strings.Cut(x[begin:], ".")
	b, _, _ := strings.Cut(y[begin:], ".")
	if a == b {
		return cmp.Compare(len(x), len(y))
	}
	i, isIndex := indexOf(a)
	j, isToo := indexOf(b)
	switch {
	case isIndex && isToo:
		return cmp.Compare(i, j)
	case isIndex:
		return -1
	case isToo:
		return 1
	}
	return strings.Compare(a, b)
}

// children yields the nodes right below a node, each with its name.
func (n flatNode) children(yield func(name string, child flatNode) bool) {
	keys := n.keys[n.here():]
	for len(keys) > 0 {
		name, _, _ := strings.Cut(keys[0].path[n.at:], ".")
		end, count := n.at+len(name), 1
		for count < len(keys) && keys[count].isBelow(name, n.at, end) {
			count++
		}
		if !yield(name, flatNode{keys[:count], end + 1}) {
			return
		}
		keys = keys[count:]
	}
}

// isBelow reports a path with a name at a place.
func (k flatKey) isBelow(name string, begin, end int) bool {
	return len(k.path) >= end && k.path[begin:end] == name && (len(k.path) == end || k.path[end] == '.')
}

// here counts the keys that end at the node.
func (n flatNode) here() (count int) {
	for count < len(n.keys) && len(n.keys[count].path) < n.at {
		count++
	}
	return count
}

// indexOf reads a list index: digits without a sign or leading zeros.
func indexOf(name string) (int, bool) {
	if name == "" || name[0] < '0' || name[0] > '9' || len(name) > 1 && name[0] == '0' {
		return 0, false
	}
	n, err := strconv.Atoi(name)
	return n, err == nil
}

// indexTooLarge reports an index beyond the bound, beyond all numbers, or with a sign.
func indexTooLarge(name string) bool {
	digits := strings.TrimLeft(name, "+-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return false
	}
	n, ok := indexOf(name)
	return n > maxFlatIndex || !ok && (len(digits) > len("10000") || digits != name)
}

// json is the value of the last key that ends at the node, unless others go on behind it.
func (n flatNode) json() exactjson.Value {
	here := n.here()
	if here == len(n.keys) {
		if here == 0 {
			return exactjson.Value{}
		}
		return JSONOf(n.keys[here-1].value)
	}
	count, indexed := 0, true
	for name := range n.children {
		_, ok := indexOf(name)
		indexed = indexed && ok
		count++
	}
	if indexed {
		elements := make([]exactjson.Value, 0, count)
		for _, child := range n.children {
			elements = append(elements, child.json())
		}
		return exactjson.ArrayValue(elements...)
	}
	members := make([]exactjson.Member, 0, count)
	for name, child := range n.children {
		members = append(members, exactjson.Member{Name: name, Value: child.json()})
	}
	return Unordered(members)
}
