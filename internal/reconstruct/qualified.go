// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import "strings"

// shortenNames gives the calls of functions that a decorator named with where they stand in the program (shop.tools.look, Shop::look) the name under which a model
// knows them. The conversation has to know the last name, and not the whole one; two functions of one name that both ran under other paths stay as they are.
func (c *collector) shortenNames(known map[string]bool) {
	paths := map[string]string{} // last name → the path before it; "" where several stand before it
	for _, t := range c.tools {
		if path, name := unqualified(t.obs.Name); name != "" && known[name] && !known[t.obs.Name] {
			if before, seen := paths[name]; seen && before != path {
				path = ""
			}
			paths[name] = path
		}
	}
	if len(paths) == 0 {
		return
	}
	for _, t := range c.tools {
		if path, name := unqualified(t.obs.Name); name != "" && !known[t.obs.Name] && path != "" && paths[name] == path {
			o := *t.obs
			o.Name = name
			t.obs = &o
		}
	}
}

// unqualified divides a name of a program into the path and the last name, both "" where it has no path. A sentence has none.
func unqualified(name string) (path, last string) {
	if strings.ContainsAny(name, " /()") {
		return "", ""
	}
	at, next := strings.LastIndexByte(name, '.'), 1
	if colons := strings.LastIndex(name, "::"); colons > at {
		at, next = colons, 2
	}
	if at <= 0 || at+next >= len(name) {
		return "", ""
	}
	return name[:at], name[at+next:]
}
