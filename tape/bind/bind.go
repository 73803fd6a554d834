// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package bind lists the members of a JSON object once, in their fixed order. Writing, canonical form, reading and JSON Schema all come
// from that one list. Reading keeps members that the list does not know; writing puts them back after the known ones.
package bind

import (
	"slices"
	"strings"
	"sync"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Codec writes, reads and describes the values of one Go type.
type Codec[F any] struct {
	// absent reports that a member with this value is left out.
	absent func(*F) bool
	put    func(*encoder, *F)
	take   func(*decoder, exactjson.Value, *F)
	// schema describes the value; members that are left out when empty never hold an empty value.
	schema func(s *schemas, mayBeEmpty bool) exactjson.Value
}

// Field is one member of the objects that T stands for.
type Field[T any] struct {
	name     string
	key      string // "name":
	absent   func(*T) bool
	put      func(e *encoder, f *Field[T], t *T)
	take     func(*decoder, exactjson.Value, *T)
	schema   func(s *schemas, mayBeEmpty bool) exactjson.Value
	alwaysIf func(*T) bool // nil: never
	always   bool
	required bool
}

// Of binds the member to the field of T that at points to.
func Of[T, F any](name string, at func(*T) *F, c Codec[F]) Field[T] {
	return Field[T]{
		name:   name,
		key:    string(append(exactjson.AppendString(nil, name), ':')),
		absent: func(t *T) bool { return c.absent(at(t)) },
		put: func(e *encoder, f *Field[T], t *T) {
			if v := at(t); f.stays(t) || !c.absent(v) {
				e.comma()
				e.buf = append(e.buf, f.key...)
				c.put(e, v)
			}
		},
		take:   func(d *decoder, v exactjson.Value, t *T) { c.take(d, v, at(t)) },
		schema: c.schema,
	}
}

// Always makes the member stand in every object, empty or not.
func (f Field[T]) Always() Field[T] {
	f.always, f.required = true, true
	return f
}

// Required makes the schema demand the member; it is never written empty.
func (f Field[T]) Required() Field[T] {
	f.required = true
	return f
}

// AlwaysIf writes an empty member when the condition holds.
func (f Field[T]) AlwaysIf(condition func(*T) bool) Field[T] {
	return Field[T]{name: f.name, key: f.key, absent: f.absent, put: f.put, take: f.take, alwaysIf: condition,
		schema: func(s *schemas, _ bool) exactjson.Value { return f.schema(s, true) }}
}

// stays reports that the member stands in the object, empty or not.
func (f *Field[T]) stays(t *T) bool { return f.always || f.alwaysIf != nil && f.alwaysIf(t) }

// Record is the list of all members of the objects that T stands for.
type Record[T any] struct {
	name     string
	unknown  func(*T) *[]exactjson.Member
	base     *plan[T]
	tag      func(*T) string
	tags     []string // of the variants, in the order of their definition
	variants map[string]*plan[T]
}

// plan is one list of members with its canonical order.
type plan[T any] struct {
	fields []Field[T]
	sorted []int
	index  map[string]int
}

// New returns a record. The name stands for it in the schema; unknown is where unknown members are kept.
func New[T any](name string, unknown func(*T) *[]exactjson.Member, fields ...Field[T]) *Record[T] {
	return &Record[T]{name: name, unknown: unknown, base: newPlan(fields)}
}

// Variants declares that the member "type", which tag returns, says which more members an object has.
func (r *Record[T]) Variants(tag func(*T) string) *Record[T] {
	r.tag, r.variants = tag, map[string]*plan[T]{}
	return r
}

// Variant adds the members of objects whose "type" is tag. Objects of other types have the common members only.
func (r *Record[T]) Variant(tag string, fields ...Field[T]) *Record[T] {
	r.tags = append(r.tags, tag)
	r.variants[tag] = newPlan(append(slices.Clone(r.base.fields), fields...))
	return r
}

func newPlan[T any](fields []Field[T]) *plan[T] {
	p := &plan[T]{fields: fields, index: make(map[string]int, len(fields))}
	for i, f := range fields {
		p.sorted = append(p.sorted, i)
		p.index[f.name] = i
	}
	slices.SortFunc(p.sorted, func(a, b int) int { return exactjson.CompareNames(fields[a].name, fields[b].name) })
	return p
}

func (r *Record[T]) plan(tag string) *plan[T] {
	if p, ok := r.variants[tag]; ok {
		return p
	}
	return r.base
}

func (r *Record[T]) planOf(t *T) *plan[T] {
	if r.tag == nil {
		return r.base
	}
	return r.plan(r.tag(t))
}

// Codec makes the record the value of a member.
func (r *Record[T]) Codec() Codec[T] {
	return Codec[T]{
		absent: r.absent,
		put:    r.put,
		take:   r.take,
		schema: func(s *schemas, _ bool) exactjson.Value {
			r.define(s)
			return object("$ref", exactjson.StringValue("#/$defs/"+r.name))
		},
	}
}

func (r *Record[T]) absent(t *T) bool {
	fields := r.planOf(t).fields
	for i := range fields {
		if f := &fields[i]; f.stays(t) || !f.absent(t) {
			return false
		}
	}
	return len(*r.unknown(t)) == 0
}

func (r *Record[T]) put(e *encoder, t *T) {
	p, unknown := r.planOf(t), *r.unknown(t)
	e.buf = append(e.buf, '{')
	switch {
	case !e.canonical:
		for i := range p.fields {
			p.fields[i].put(e, &p.fields[i], t)
		}
		for i := range unknown {
			e.key(unknown[i].Name)
			e.value(unknown[i].Value)
		}
	case len(unknown) == 0:
		for _, i := range p.sorted {
			p.fields[i].put(e, &p.fields[i], t)
		}
	default:
		unknown = slices.Clone(unknown)
		slices.SortFunc(unknown, func(a, b exactjson.Member) int { return exactjson.CompareNames(a.Name, b.Name) })
		for _, i := range p.sorted {
			for len(unknown) > 0 && exactjson.CompareNames(unknown[0].Name, p.fields[i].name) < 0 {
				e.key(unknown[0].Name)
				e.value(unknown[0].Value)
				unknown = unknown[1:]
			}
			p.fields[i].put(e, &p.fields[i], t)
		}
		for i := range unknown {
			e.key(unknown[i].Name)
			e.value(unknown[i].Value)
		}
	}
	e.buf = append(e.buf, '}')
}

func (r *Record[T]) take(d *decoder, v exactjson.Value, t *T) {
	if v.Kind() != exactjson.Object {
		d.wrongType("an object")
		return
	}
	p := r.base
	if r.tag != nil {
		p = r.plan(v.Get("type").Str())
	}
	next := 0
	for _, m := range v.Members() {
		// Written tapes hold the members in the order of the list, so the next one is nearly always the right one.
		for next < len(p.fields) && p.fields[next].name != m.Name {
			next++
		}
		if next == len(p.fields) {
			i, known := p.index[m.Name]
			if !known {
				unknown := r.unknown(t)
				*unknown = append(*unknown, m)
				next = 0
				continue
			}
			next = i
		}
		d.path = append(d.path, m.Name)
		p.fields[next].take(d, m.Value, t)
		d.path = d.path[:len(d.path)-1]
		next++
		if d.err != nil {
			return
		}
	}
}

// AppendJSON appends the object in compact form: the members in the order of the list, then the unknown ones.
func (r *Record[T]) AppendJSON(dst []byte, t *T) []byte {
	dst, _ = r.render(encoder{buf: dst}, t)
	return dst
}

// AppendCanonical appends the canonical form (jcs+int). It fails with exactjson.ErrRange when a number has no double.
func (r *Record[T]) AppendCanonical(dst []byte, t *T) ([]byte, error) {
	return r.render(encoder{buf: dst, canonical: true}, t)
}

// encoders are kept from object to object: many are small, as messages that are rendered for their ids.
var encoders = sync.Pool{New: func() any { return new(encoder) }}

func (r *Record[T]) render(with encoder, t *T) ([]byte, error) {
	e := encoders.Get().(*encoder)
	*e = with
	r.put(e, t)
	with, *e = *e, encoder{}
	encoders.Put(e)
	return with.buf, with.err
}

// Decode reads the object. The error is a *FieldError.
func (r *Record[T]) Decode(v exactjson.Value) (T, error) {
	var t T
	d := decoder{}
	r.take(&d, v, &t)
	return t, d.err
}

// FieldError says which member of a document has a value of the wrong type. It never holds the value.
type FieldError struct {
	Path string // dotted: events.3.started_at; empty for the document itself
	Want string // what the format demands there
}

// Error implements error.
func (e *FieldError) Error() string {
	if e.Path == "" {
		return "not " + e.Want
	}
	return e.Path + ": not " + e.Want
}

// encoder collects the bytes of one document.
type encoder struct {
	buf       []byte
	canonical bool
	err       error
}

func (e *encoder) comma() {
	if last := e.buf[len(e.buf)-1]; last != '{' && last != '[' {
		e.buf = append(e.buf, ',')
	}
}

func (e *encoder) key(name string) {
	e.comma()
	e.buf = append(exactjson.AppendString(e.buf, name), ':')
}

// value appends a JSON value.
func (e *encoder) value(v exactjson.Value) {
	if !e.canonical {
		e.buf = v.AppendJSON(e.buf)
		return
	}
	var err error
	if e.buf, err = v.AppendCanonical(e.buf); err != nil {
		e.err = err
	}
}

type decoder struct {
	path []string
	err  error
}

func (d *decoder) wrongType(want string) {
	if d.err == nil {
		d.err = &FieldError{Path: strings.Join(d.path, "."), Want: want}
	}
}
