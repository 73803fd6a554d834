// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package signature signs tapes with Ed25519 and checks such signatures. docs/tape-format.md says what is signed and where signatures lie.
package signature

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/deck/keyfile"
)

// Statement is what a signature vouches for: that its key's holder derived this tape from this evidence.
type Statement struct {
	// TapeID covers the tape, and the digests of the files beside it that stand in it.
	TapeID string
	// Oracle is the digest of the oracle file, "sha256:…"; empty if there is none.
	Oracle string
	// Evidence are the digests of the parts that the tape was made of, 64 hex digits each, sorted.
	Evidence []string
}

// domain begins everything that is signed, so that a signature for this purpose is none for another one that the key may have.
const domain = "tapedeck tape signature 1\n"

// message is what is signed. Each value stands on a line of its own and none holds a line feed, so no two statements have the same message.
func (s Statement) message() []byte {
	var b bytes.Buffer
	b.WriteString(domain)
	oracle := s.Oracle
	if oracle == "" {
		oracle = "none"
	}
	fmt.Fprintf(&b, "tape %s\noracle %s\nevidence %d\n", s.TapeID, oracle, len(s.Evidence))
	for _, digest := range s.Evidence {
		fmt.Fprintf(&b, "%s\n", digest)
	}
	return b.Bytes()
}

var (
	tapeIDForm = regexp.MustCompile(`^sha256(-raw)?:[0-9a-f]{64}$`)
	digestForm = regexp.MustCompile(`^[0-9a-f]{64}$`)
	keyIDForm  = regexp.MustCompile(`^[0-9a-f]{16}$`)
)

func (s Statement) check() error {
	switch {
	case !tapeIDForm.MatchString(s.TapeID):
		return errors.New("its tape_id is not a digest")
	case s.Oracle != "" && (!tapeIDForm.MatchString(s.Oracle)):
		return errors.New("its oracle is not a digest")
	}
	for i, digest := range s.Evidence {
		if !digestForm.MatchString(digest) || i > 0 && s.Evidence[i-1] >= digest {
			return errors.New("its evidence is not a sorted list of digests")
		}
	}
	return nil
}

// Equal tells whether two statements say the same.
func (s Statement) Equal(o Statement) bool {
	return s.TapeID == o.TapeID && s.Oracle == o.Oracle && slices.Equal(s.Evidence, o.Evidence)
}

// Signature is one over a Statement.
type Signature struct {
	KeyID string
	Value [ed25519.SignatureSize]byte
}

// String is the form in a column of a reel: the id of the key, a colon, base64.
func (s Signature) String() string {
	return s.KeyID + ":" + base64.StdEncoding.EncodeToString(s.Value[:])
}

// Parse reads what String writes, and nothing else.
func Parse(text string) (s Signature, err error) {
	id, value, _ := strings.Cut(text, ":")
	raw, err := base64.StdEncoding.Strict().DecodeString(value)
	if err != nil || !keyIDForm.MatchString(id) || len(raw) != len(s.Value) {
		return Signature{}, errors.New("not a signature: no <key id>:<base64 of 64 bytes>")
	}
	s.KeyID = id
	copy(s.Value[:], raw)
	if s.String() != text {
		return Signature{}, errors.New("not a signature: base64 of another form")
	}
	return s, nil
}

const (
	filePrefix = "signature-"
	fileSuffix = ".json"
	kind       = "tape-signature"
	version    = "1"
)

// FileName is the name of the file with the signature by a key, beside tape.json. Keys have files of their own, so that signatures by the old and
// the new key lie side by side while keys are changed.
func FileName(keyID string) string { return filePrefix + keyID + fileSuffix }

// KeyOf returns the id of the key of a file, and false if the name is not that of a signature.
func KeyOf(fileName string) (keyID string, ok bool) {
	id, ok := strings.CutPrefix(fileName, filePrefix)
	id, ok2 := strings.CutSuffix(id, fileSuffix)
	return id, ok && ok2 && keyIDForm.MatchString(id)
}

// file is the form of a file. The order of its members is part of the format.
type file struct {
	Kind      string   `json:"kind"`
	Version   string   `json:"version"`
	KeyID     string   `json:"key_id"`
	TapeID    string   `json:"tape_id"`
	Oracle    string   `json:"oracle,omitempty"`
	Evidence  []string `json:"evidence"`
	Signature []byte   `json:"signature"` // base64
}

// File is the file of a signature: the statement, so that it can be checked wherever the tape is, and the signature. It is a function of both.
func (s Signature) File(of Statement) []byte {
	evidence := of.Evidence
	if evidence == nil {
		evidence = []string{}
	}
	text, err := json.Marshal(file{kind, version, s.KeyID, of.TapeID, of.Oracle, evidence, s.Value[:]})
	if err != nil {
		panic(err) // texts and bytes
	}
	return append(text, '\n')
}

// ParseFile reads what File writes, and nothing else: a file in another form may say something to another reader.
func ParseFile(body []byte) (s Signature, of Statement, err error) {
	var f file
	if err := json.Unmarshal(body, &f); err != nil || f.Kind != kind {
		return s, of, errors.New("not the file of a signature")
	}
	if f.Version != version {
		return s, of, fmt.Errorf("a signature of version %.16q, known is %s", f.Version, version)
	}
	of = Statement{f.TapeID, f.Oracle, f.Evidence}
	if err := of.check(); err != nil {
		return s, of, fmt.Errorf("not a signature: %w", err)
	}
	if !keyIDForm.MatchString(f.KeyID) || len(f.Signature) != len(s.Value) {
		return s, of, errors.New("not a signature: key_id or signature has another form")
	}
	s.KeyID = f.KeyID
	copy(s.Value[:], f.Signature)
	if !bytes.Equal(s.File(of), body) {
		return s, of, errors.New("not in the one form that a signature has")
	}
	return s, of, nil
}

// Signer signs with one key. Ed25519 is deterministic: the same statement has the same signature.
type Signer struct {
	key     ed25519.PrivateKey
	id      string
	concern string
}

// NewSigner returns the signer of a key.
func NewSigner(key ed25519.PrivateKey) (*Signer, error) {
	id, err := keyID(key.Public().(ed25519.PublicKey))
	return &Signer{key: key, id: id}, err
}

// Concern says that others can read or replace the file of the key, "" if nobody can. It is for a log.
func (s *Signer) Concern() string { return s.concern }

// KeyID names the key.
func (s *Signer) KeyID() string { return s.id }

// Sign signs a statement.
func (s *Signer) Sign(of Statement) Signature {
	out := Signature{KeyID: s.id}
	copy(out.Value[:], ed25519.Sign(s.key, of.message()))
	return out
}

// maxKeyFile is far more than a file of keys has, in bytes.
const maxKeyFile = 1 << 20

// readKeyFile reads a file of keys. Its errors never hold what is in it.
func readKeyFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxKeyFile {
		return nil, fmt.Errorf("%s: too large for a key", path)
	}
	return os.ReadFile(path)
}

// ReadSigner reads a private key: PEM of PKCS #8, as `openssl genpkey -algorithm ed25519` writes it. An empty path is no signer.
// A file that everybody can write is refused.
func ReadSigner(path string) (*Signer, error) {
	if path == "" {
		return nil, nil
	}
	data, concern, err := keyfile.Read(path)
	if err != nil {
		return nil, fmt.Errorf("key to sign with: %w", err)
	}
	bad := func(what string) error {
		return fmt.Errorf("key to sign with: %s holds %s; `openssl genpkey -algorithm ed25519` makes one", path, what)
	}
	block, rest := pem.Decode(data)
	switch {
	case block == nil:
		return nil, bad("no PEM")
	case block.Type != "PRIVATE KEY":
		return nil, bad(fmt.Sprintf("a PEM block %.40q and no unencrypted PRIVATE KEY", block.Type))
	case len(bytes.TrimSpace(rest)) > 0:
		return nil, bad("more than one key")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, bad("no key of PKCS #8")
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, bad("a key of another kind than Ed25519")
	}
	s, err := NewSigner(key)
	if err == nil && concern != "" {
		s.concern = "key to sign with: " + concern
	}
	return s, err
}

// Keys are the public keys that somebody trusts, by their ids.
type Keys map[string]ed25519.PublicKey

// ReadKeys reads files with public keys: PEM blocks PUBLIC KEY, as `openssl pkey -pubout` writes them, one or several in a file.
func ReadKeys(paths ...string) (Keys, error) {
	keys := Keys{}
	for _, path := range paths {
		data, err := readKeyFile(path)
		if err != nil {
			return nil, fmt.Errorf("key to verify with: %w", err)
		}
		bad := func(what string) error {
			return fmt.Errorf("key to verify with: %s holds %s; `openssl pkey -in KEY -pubout` writes the public half of a key", path, what)
		}
		n := 0
		for len(bytes.TrimSpace(data)) > 0 {
			var block *pem.Block
			if block, data = pem.Decode(data); block == nil {
				return nil, bad("something that is no PEM")
			}
			if block.Type != "PUBLIC KEY" {
				return nil, bad(fmt.Sprintf("a PEM block %.40q and no PUBLIC KEY", block.Type))
			}
			parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
			key, ok := parsed.(ed25519.PublicKey)
			if err != nil || !ok {
				return nil, bad("a key of another kind than Ed25519")
			}
			if err := keys.Add(key); err != nil {
				return nil, err
			}
			n++
		}
		if n == 0 {
			return nil, bad("no key")
		}
	}
	return keys, nil
}

// Add adds a key.
func (k Keys) Add(key ed25519.PublicKey) error {
	id, err := keyID(key)
	if err == nil {
		k[id] = key
	}
	return err
}

// keyID names a key: the first 16 hex digits of the SHA-256 of its DER form, which openssl and sha256sum compute too.
func keyID(key ed25519.PublicKey) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:8]), nil
}

// Holds tells whether a signature is one by its key over the statement; false if the key is not among these.
func (k Keys) Holds(s Signature, of Statement) bool {
	key, ok := k[s.KeyID]
	return ok && ed25519.Verify(key, of.message(), s.Value[:])
}
