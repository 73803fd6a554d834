// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/tapedeck/tapedeck/internal/deck/keyfile"
	"github.com/tapedeck/tapedeck/internal/redact/token"
)

// minKeyBytes is the least entropy that a key may have: that of the digest.
const minKeyBytes = 32

// generatedKeyFile is the name of a generated key in its state folder.
const generatedKeyFile = "redaction.key"

// Key makes and verifies tokens. Every collector and every replay of a deck needs the same one. It is never stored in a deck; its id is.
type Key struct {
	id     string
	secret []byte // that makes the tokens
	hashes sync.Pool
	// concern says who else has the key, see Concern.
	concern string
}

// NewKey returns the key with the secret, which must hold at least 32 bytes. The same value has different tokens in different scopes
// (a tenant, a deck); the empty scope is a scope like any other.
func NewKey(secret []byte, scope string) (*Key, error) {
	if len(secret) < minKeyBytes {
		return nil, fmt.Errorf("redaction key: %d bytes, at least %d are needed", len(secret), minKeyBytes)
	}
	distinct := map[byte]bool{}
	for _, b := range secret {
		distinct[b] = true
	}
	if len(distinct) < 8 {
		return nil, fmt.Errorf("redaction key: %d different bytes are no random key", len(distinct))
	}
	// Words that repeat: of a random key, no three bytes do.
	trigrams := map[string]bool{}
	for i := range len(secret) - 2 {
		trigrams[string(secret[i:i+3])] = true
	}
	if len(trigrams)*10 < (len(secret)-2)*7 {
		return nil, errors.New("redaction key: the same bytes again and again are no random key")
	}
	// Both are derived, so that the id says nothing about the key that makes tokens.
	k := &Key{
		id:     token.Base32.EncodeToString(derived(secret, "tapedeck redaction key id v1", scope)[:10]),
		secret: derived(secret, "tapedeck redaction token v1", scope),
	}
	k.hashes.New = func() any { return hmac.New(sha256.New, k.secret) }
	return k, nil
}

func derived(secret []byte, purpose, scope string) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(purpose))
	h.Write([]byte{0})
	h.Write([]byte(scope))
	return h.Sum(nil)
}

// ParseKey reads a key from text, as it stands in a file or an environment variable: "hex:…", "base64:…", or the bytes themselves
// without surrounding white space.
func ParseKey(text []byte, scope string) (*Key, error) {
	secret := bytes.TrimSpace(text)
	var err error
	if rest, ok := bytes.CutPrefix(secret, []byte("hex:")); ok {
		secret, err = hex.AppendDecode(nil, bytes.TrimSpace(rest))
	} else if rest, ok := bytes.CutPrefix(secret, []byte("base64:")); ok {
		secret, err = base64.StdEncoding.AppendDecode(nil, bytes.TrimSpace(rest))
	}
	if err != nil {
		return nil, errors.New("redaction key: the text behind hex: or base64: is not in that encoding") // the cause would quote it
	}
	return NewKey(secret, scope)
}

// KeyFromFile reads a key that somebody has made, such as a mounted secret. A file that everybody can write
// is refused.
func KeyFromFile(path, scope string) (*Key, error) {
	text, concern, err := keyfile.Read(path)
	if err != nil {
		return nil, fmt.Errorf("redaction key: %w", err)
	}
	k, err := ParseKey(text, scope)
	if err != nil {
		return nil, fmt.Errorf("%w (file %s)", err, path)
	}
	if concern != "" {
		k.concern = "redaction key: " + concern
	}
	return k, nil
}

// Concern says that others can read or replace the file of the key, "" if nobody can. It is for a log.
func (k *Key) Concern() string { return k.concern }

// KeyFromEnv reads a key from an environment variable.
func KeyFromEnv(name, scope string) (*Key, error) {
	text, ok := os.LookupEnv(name)
	if !ok || strings.TrimSpace(text) == "" {
		return nil, fmt.Errorf("redaction key: the environment variable %s is not set", name)
	}
	k, err := ParseKey([]byte(text), scope)
	if err != nil {
		return nil, fmt.Errorf("%w (environment variable %s)", err, name)
	}
	return k, nil
}

// GeneratedKey returns the key of a state folder and makes it on first use. It is for one node alone: another collector of the same
// deck would make another key, and equal values would no longer have equal tokens. The file is readable by its owner only.
func GeneratedKey(dir, scope string) (*Key, error) {
	path := filepath.Join(dir, generatedKeyFile)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := generate(dir, path); err != nil {
			return nil, fmt.Errorf("redaction key: %w", err)
		}
	case err != nil:
		return nil, fmt.Errorf("redaction key: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("redaction key: %s is not a regular file", path)
	case !keyfile.Own(info):
		return nil, fmt.Errorf("redaction key: %s belongs to another user; a generated key is of the user that it was made by, who could replace it", path)
	case info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("redaction key: %s is open to others (%04o); a generated key must be 0600", path, info.Mode().Perm())
	}
	return KeyFromFile(path, scope)
}

// generate writes a random key. Linking a finished file makes the name appear with its content or not at all, and lets the first of
// several processes win.
func generate(dir, path string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	secret := make([]byte, minKeyBytes)
	rand.Read(secret) // never fails
	f, err := os.CreateTemp(dir, generatedKeyFile+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString("base64:" + base64.StdEncoding.EncodeToString(secret) + "\n")
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// ID names the key: 16 characters that say nothing about it. It stands in every tape.
func (k *Key) ID() string { return k.id }

// VerifyToken says whether text is what this key makes of the live value, whichever rule found it.
func (k *Key) VerifyToken(text, live string) bool {
	t, ok := token.Parse(text)
	if !ok {
		return false
	}
	var digest [2 * token.DigestBytes]byte
	return hmac.Equal([]byte(t.Digest), k.appendDigest(digest[:0], live))
}

// token returns the token of a value.
func (k *Key) token(rule, value string) string {
	b := make([]byte, 0, len(token.Prefix)+len(rule)+1+2*token.DigestBytes)
	b = append(b, token.Prefix...)
	b = append(b, rule...)
	b = append(b, ':')
	b = k.appendDigest(b, value)
	return string(append(b, ']'))
}

// appendDigest appends the digest of a value as it stands in a token. The rule is no part of it: a value has one digest, whatever
// found it.
func (k *Key) appendDigest(dst []byte, value string) []byte {
	h := k.hashes.Get().(hash.Hash)
	h.Reset()
	h.Write([]byte(value))
	var sum [sha256.Size]byte
	dst = token.Base32.AppendEncode(dst, h.Sum(sum[:0])[:token.DigestBytes])
	k.hashes.Put(h)
	return dst
}
