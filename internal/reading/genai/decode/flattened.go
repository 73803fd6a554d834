// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Bounds for flattened keys, which a hostile sender chooses.
const (
	maxFlatIndex = 10_000
	maxFlatDepth = 16
)

// flatNode is a tree rebuilt from keys such as llm.input_messages.0.message.role.
type flatNode struct {
	value    exactjson.Value
	children map[string]*flatNode
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
	for number, place := 0, 0; place < list.Len(); number++ {
		switch {
		case root.children[strconv.Itoa(number)] != nil:
			place++
		case number > 0 && root.children[strconv.Itoa(number-1)] != nil && root.children[strconv.Itoa(number+1)] != nil:
			before = append(before, place)
		}
	}
	return list, before
}

// LeavesOut reports that of the value whose keys begin with a prefix an element of a list is left out: places before it and after it have keys. Those who write a
// key for each member have none for null, an empty list or an empty object.
func (a Attributes) LeavesOut(prefix string) bool { return a.unflatten(prefix).leavesOut() }

func (n *flatNode) leavesOut() bool {
	isList, last := len(n.children) > 0, 0
	for name, child := range n.children {
		if child.leavesOut() {
			return true
		}
		at, ok := indexOf(name)
		isList, last = isList && ok, max(last, at)
	}
	return isList && n.children["0"] != nil && last >= len(n.children)
}

func (a Attributes) unflatten(prefix string) *flatNode {
	root := &flatNode{}
	for key, v := range a.All() {
		rest, ok := strings.CutPrefix(key, prefix)
		if !ok || rest == "" {
			continue
		}
		path := strings.Split(rest, ".")
		if len(path) > maxFlatDepth || slices.ContainsFunc(path, indexTooLarge) {
			continue
		}
		node := root
		for _, name := range path {
			if node.children == nil {
				node.children = map[string]*flatNode{}
			}
			next := node.children[name]
			if next == nil {
				next = &flatNode{}
				node.children[name] = next
			}
			node = next
		}
		node.value = JSONOf(v)
	}
	return root
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

func (n *flatNode) json() exactjson.Value {
	if len(n.children) == 0 {
		return n.value
	}
	names := make([]string, 0, len(n.children))
	indexed := true
	for name := range n.children {
		names = append(names, name)
		if _, ok := indexOf(name); !ok {
			indexed = false
		}
	}
	if indexed {
		slices.SortFunc(names, func(a, b string) int {
			x, _ := indexOf(a)
			y, _ := indexOf(b)
			return x - y
		})
		elements := make([]exactjson.Value, len(names))
		for i, name := range names {
			elements[i] = n.children[name].json()
		}
		return exactjson.ArrayValue(elements...)
	}
	slices.Sort(names)
	members := make([]exactjson.Member, len(names))
	for i, name := range names {
		members[i] = exactjson.Member{Name: name, Value: n.children[name].json()}
	}
	return exactjson.ObjectValue(members...)
}
