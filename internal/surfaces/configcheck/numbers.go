// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package configcheck reads the configuration of a component, and refuses the numbers that confmap would change without a word: one that the field cannot
// hold overflows, and a fraction loses what stands behind the point.
package configcheck

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/confmap"
)

// Unmarshal reads conf into cfg, a pointer to a struct; it is what the Unmarshal method of a component's Config calls. Errors name the key as it is written
// in a configuration, and the limit.
func Unmarshal(conf *confmap.Conf, cfg any) error {
	if err := check("", conf.ToStringMap(), reflect.TypeOf(cfg)); err != nil {
		return err
	}
	return conf.Unmarshal(cfg)
}

// check compares the numbers in raw with what a field of type t can hold. What has another form than t is left to confmap, which says so.
func check(key string, raw any, t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if get, ok := reflect.PointerTo(t).MethodByName("Get"); ok && get.Type.NumIn() == 1 && get.Type.NumOut() == 1 { // configoptional.Optional
		return check(key, raw, get.Type.Out(0))
	}
	v := reflect.ValueOf(raw)
	var errs []error
	switch v.Kind() {
	case reflect.Map:
		children, ok := raw.(map[string]any)
		if !ok {
			return nil
		}
		for _, name := range slices.Sorted(maps.Keys(children)) {
			if child := childType(t, name); child != nil {
				errs = append(errs, check(strings.TrimPrefix(key+confmap.KeyDelimiter+name, confmap.KeyDelimiter), children[name], child))
			}
		}
	case reflect.Slice:
		if t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
			for i := range v.Len() {
				errs = append(errs, check(fmt.Sprint(key, confmap.KeyDelimiter, i), v.Index(i).Interface(), t.Elem()))
			}
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return checkNumber(key, new(big.Float).SetInt64(v.Int()), t)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return checkNumber(key, new(big.Float).SetUint64(v.Uint()), t)
	case reflect.Float32, reflect.Float64:
		if math.IsNaN(v.Float()) {
			return fmt.Errorf("%s: .nan is no number", key)
		}
		return checkNumber(key, new(big.Float).SetFloat64(v.Float()), t)
	}
	return errors.Join(errs...)
}

// childType is the type of what is written under name in a t, nil if there is none.
func childType(t reflect.Type, name string) reflect.Type {
	switch t.Kind() {
	case reflect.Map:
		return t.Elem()
	case reflect.Struct:
		for field := range t.Fields() {
			if !field.IsExported() {
				continue
			}
			tag, options, _ := strings.Cut(field.Tag.Get("mapstructure"), ",")
			if slices.Contains(strings.Split(options, ","), "squash") {
				inner := field.Type
				if inner.Kind() == reflect.Pointer {
					inner = inner.Elem()
				}
				if found := childType(inner, name); found != nil {
					return found
				}
			} else if tag == name || tag == "" && field.Name == name {
				return field.Type
			}
		}
	}
	return nil
}

func isNumber(t reflect.Type) bool {
	return t.Kind() >= reflect.Int && t.Kind() <= reflect.Float64 && t.Kind() != reflect.Uintptr
}

// checkNumber tells whether a field of type t holds n as it is.
func checkNumber(key string, n *big.Float, t reflect.Type) error {
	if !isNumber(t) {
		return nil
	}
	zero := reflect.Zero(t)
	if zero.CanFloat() {
		if f, _ := n.Float64(); n.IsInf() || zero.OverflowFloat(f) {
			return fmt.Errorf("%s: %s does not fit into a %s", key, n.Text('g', -1), t.Kind())
		}
		return nil
	}
	least, most := limits(t)
	text := n.Text('f', -1)
	if n.IsInt() {
		text = n.Text('f', 0) // every digit: the shortest form may look as if it did fit
	}
	switch {
	case n.Cmp(new(big.Float).SetInt(least)) >= 0 && n.Cmp(new(big.Float).SetInt(most)) <= 0:
		if !n.IsInt() {
			return fmt.Errorf("%s must be a whole number, got %s", key, text)
		}
		return nil
	case t == reflect.TypeFor[time.Duration]():
		// A number without a unit counts nanoseconds.
		return fmt.Errorf("%s: %s ns is not between %s and %s", key, text, time.Duration(least.Int64()), time.Duration(most.Int64()))
	}
	return fmt.Errorf("%s: %s is not between %s and %s", key, text, least, most)
}

// limits are the least and the most of an integer type.
func limits(t reflect.Type) (least, most *big.Int) {
	one := big.NewInt(1)
	if reflect.Zero(t).CanUint() {
		most = new(big.Int).Lsh(one, uint(t.Bits()))
		return new(big.Int), most.Sub(most, one)
	}
	half := new(big.Int).Lsh(one, uint(t.Bits()-1))
	return new(big.Int).Neg(half), new(big.Int).Sub(half, one)
}
