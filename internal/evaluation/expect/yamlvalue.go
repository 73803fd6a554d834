// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package expect

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// ValueOf is YAML as JSON. Numbers keep their digits. What JSON does not have is refused.
func ValueOf(n *yaml.Node) (v exactjson.Value, err error) {
	switch n.Kind {
	case yaml.MappingNode:
		var members []exactjson.Member
		seen := map[string]bool{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			name := n.Content[i]
			if name.Kind != yaml.ScalarNode {
				return v, fmt.Errorf("line %d: a name that is no text", name.Line)
			}
			if seen[name.Value] {
				return v, fmt.Errorf("line %d: %.40q comes twice", name.Line, name.Value)
			}
			seen[name.Value] = true
			if v, err = ValueOf(n.Content[i+1]); err != nil {
				return v, err
			}
			members = append(members, exactjson.Member{Name: name.Value, Value: v})
		}
		return exactjson.ObjectValue(members...), nil
	case yaml.SequenceNode:
		var elements []exactjson.Value
		for _, element := range n.Content {
			if v, err = ValueOf(element); err != nil {
				return v, err
			}
			elements = append(elements, v)
		}
		return exactjson.ArrayValue(elements...), nil
	case yaml.ScalarNode:
		switch n.ShortTag() {
		case "!!str", "!!timestamp":
			return exactjson.StringValue(n.Value), nil
		case "!!null":
			return exactjson.NullValue, nil
		case "!!int", "!!float", "!!bool":
			if v, err = exactjson.Parse(n.Value); err == nil && (v.Kind() == exactjson.Number || v.Kind() == exactjson.Bool) {
				return v, nil
			}
		}
		return v, fmt.Errorf("line %d: %.40q is not written as in JSON", n.Line, n.Value)
	}
	return v, fmt.Errorf("line %d: aliases are not taken", n.Line)
}
