// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"syscall"
)

// faultDir is a directory in memory that knows what of it is on the disk. A crash keeps what was synced, and of the rest whatever the
// disk happened to write: of each file any subset of the sectors of its writes, of the names any of their changes.
type faultDir struct {
	mu      sync.Mutex
	rng     *rand.Rand
	names   map[string]*faultFile
	durable map[string]*faultFile
	changes []func(map[string]*faultFile)
	locked  bool

	capacity int64 // of the disk; 0: no limit
	crashIn  int   // operations until the crash; 0: none
	crashed  *faultDir
	// fault, if set, may answer an operation with an error; a write is then done in part. name is that of the file.
	fault func(op, name string) error
}

type faultFile struct {
	data    []byte
	disk    []byte
	pending []change
}

// change is a write that is not synced, or a truncation.
type change struct {
	at   int64
	data []byte
	size int64 // of a truncation
}

const sector = 512

var errCrashed = errors.New("the machine is down")

func newFaultDir(seed uint64) *faultDir {
	return &faultDir{rng: rand.New(rand.NewPCG(seed, 1)), names: map[string]*faultFile{}, durable: map[string]*faultFile{}}
}

// step counts an operation and may let it fail. The lock is held.
func (d *faultDir) step(op, name string) error {
	if d.crashed != nil {
		return errCrashed
	}
	if d.crashIn > 0 {
		if d.crashIn--; d.crashIn == 0 {
			d.crash()
			return errCrashed
		}
	}
	if d.fault != nil {
		return d.fault(op, name)
	}
	return nil
}

// crash leaves in d.crashed the directory as a restarted machine finds it.
func (d *faultDir) crash() {
	if d.crashed != nil {
		return
	}
	after := newFaultDir(d.rng.Uint64())
	after.capacity = d.capacity
	names := map[string]*faultFile{}
	for name, f := range d.durable {
		names[name] = f
	}
	inOrder := d.rng.IntN(2) == 0
	changes := d.changes
	if inOrder {
		changes = changes[:d.rng.IntN(len(changes)+1)]
	}
	for _, change := range changes {
		if inOrder || d.rng.IntN(2) == 0 {
			change(names)
		}
	}
	list := make([]string, 0, len(names))
	for name := range names {
		list = append(list, name)
	}
	slices.Sort(list)
	for _, name := range list {
		data := names[name].surviving(d.rng)
		after.names[name] = &faultFile{data: data, disk: slices.Clone(data)}
		after.durable[name] = after.names[name]
	}
	d.crashed = after
}

// surviving is what a crash leaves of a file.
func (f *faultFile) surviving(rng *rand.Rand) []byte {
	data := slices.Clone(f.disk)
	inOrder := rng.IntN(2) == 0
	upTo := len(f.pending)
	if inOrder {
		upTo = rng.IntN(len(f.pending) + 1)
	}
	for i, c := range f.pending[:upTo] {
		cut := c.data
		if inOrder && i == upTo-1 {
			cut = cut[:rng.IntN(len(cut)+1)]
		}
		if c.data == nil {
			data = resize(data, c.size)
			continue
		}
		for len(cut) > 0 {
			n := min(int64(len(cut)), sector-c.at%sector)
			if inOrder || rng.IntN(3) > 0 {
				data = put(data, cut[:n], c.at)
			}
			cut, c.at = cut[n:], c.at+n
		}
	}
	return data
}

func resize(data []byte, size int64) []byte {
	if size <= int64(len(data)) {
		return data[:size]
	}
	return append(data, make([]byte, size-int64(len(data)))...)
}

func put(data, b []byte, at int64) []byte {
	if end := at + int64(len(b)); end > int64(len(data)) {
		data = resize(data, end)
	}
	copy(data[at:], b)
	return data
}

func (d *faultDir) used() (n int64) {
	for _, f := range d.names {
		n += int64(len(f.data))
	}
	return n
}

// change does something to the names, now, and on the disk after a sync.
func (d *faultDir) change(fn func(map[string]*faultFile)) {
	fn(d.names)
	d.changes = append(d.changes, fn)
}

func (d *faultDir) Open(name string, flag int) (file, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step("open", name); err != nil {
		return nil, err
	}
	f := d.names[name]
	switch {
	case f == nil && flag&os.O_CREATE == 0:
		return nil, os.ErrNotExist
	case f != nil && flag&os.O_EXCL != 0:
		return nil, os.ErrExist
	case f == nil:
		f = &faultFile{}
		d.change(func(names map[string]*faultFile) { names[name] = f })
	}
	return &faultHandle{d, f, name}, nil
}

func (d *faultDir) Remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step("remove", name); err != nil {
		return err
	}
	if d.names[name] == nil {
		return os.ErrNotExist
	}
	d.change(func(names map[string]*faultFile) { delete(names, name) })
	return nil
}

func (d *faultDir) Rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step("rename", from); err != nil {
		return err
	}
	f := d.names[from]
	if f == nil {
		return os.ErrNotExist
	}
	d.change(func(names map[string]*faultFile) {
		delete(names, from)
		names[to] = f
	})
	return nil
}

func (d *faultDir) List() ([]fileEntry, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step("list", ""); err != nil {
		return nil, err
	}
	var list []fileEntry
	for name, f := range d.names {
		list = append(list, fileEntry{name, int64(len(f.data)), true})
	}
	slices.SortFunc(list, func(a, b fileEntry) int { return cmpStrings(a.name, b.name) })
	return list, nil
}

func cmpStrings(a, b string) int {
	if a < b {
		return -1
	}
	return 1
}

func (d *faultDir) SyncDir() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step("syncdir", ""); err != nil {
		return err
	}
	for _, change := range d.changes {
		change(d.durable)
	}
	d.changes = nil
	return nil
}

func (d *faultDir) Lock() (io.Closer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.locked {
		return nil, ErrLocked
	}
	d.locked = true
	return closer(func() error {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.locked = false
		return nil
	}), nil
}

type closer func() error

func (c closer) Close() error { return c() }

type faultHandle struct {
	d    *faultDir
	f    *faultFile
	name string
}

func (h *faultHandle) ReadAt(b []byte, at int64) (int, error) {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	if err := h.d.step("read", h.name); err != nil {
		return 0, err
	}
	if at >= int64(len(h.f.data)) {
		return 0, io.EOF
	}
	n := copy(b, h.f.data[at:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (h *faultHandle) write(b []byte, at int64) {
	h.f.data = put(h.f.data, b, at)
	h.f.pending = append(h.f.pending, change{at: at, data: slices.Clone(b)})
}

// WriteAt writes a part when it fails, and when the machine goes down the whole of it is among what may get to the disk.
func (h *faultHandle) WriteAt(b []byte, at int64) (int, error) {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	if h.d.crashed == nil && h.d.crashIn == 1 {
		h.write(b, at)
	}
	if err := h.d.step("write", h.name); err != nil {
		n := h.d.rng.IntN(len(b) + 1)
		if n > 0 && h.d.crashed == nil {
			h.write(b[:n], at)
		}
		return n, err
	}
	if grow := at + int64(len(b)) - int64(len(h.f.data)); grow > 0 && h.d.full(grow) {
		return 0, syscall.ENOSPC
	}
	h.write(b, at)
	return len(b), nil
}

// WriteFrames is one write: what fails or crashes in it may leave any part of any frame.
func (h *faultHandle) WriteFrames(frames [][]byte, at int64) error {
	_, err := h.WriteAt(slices.Concat(frames...), at)
	return err
}

func (d *faultDir) full(grow int64) bool { return d.capacity > 0 && d.used()+grow > d.capacity }

func (h *faultHandle) Truncate(size int64) error {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	if err := h.d.step("truncate", h.name); err != nil {
		return err
	}
	h.resize(size)
	return nil
}

func (h *faultHandle) resize(size int64) {
	h.f.data = resize(h.f.data, size)
	h.f.pending = append(h.f.pending, change{size: size})
}

func (h *faultHandle) Preallocate(size int64) error {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	if err := h.d.step("preallocate", h.name); err != nil {
		return err
	}
	if grow := size - int64(len(h.f.data)); grow > 0 {
		if h.d.full(grow) {
			return syscall.ENOSPC
		}
		h.resize(size)
	}
	return nil
}

// Sync that fails forgets what it should have written: it is never written, though it can be read until the machine goes down.
func (h *faultHandle) Sync() error {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	if err := h.d.step("sync", h.name); err != nil {
		if h.d.crashed == nil {
			h.f.disk = h.f.surviving(h.d.rng)
			h.f.pending = nil
		}
		return err
	}
	h.f.disk = slices.Clone(h.f.data)
	h.f.pending = nil
	return nil
}

func (h *faultHandle) Size() (int64, error) {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	return int64(len(h.f.data)), nil
}

func (h *faultHandle) Close() error { return nil }
