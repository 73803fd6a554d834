// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package signature_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck/signature"
)

const hash = "705d6fcdc147657254f3df5bc28bcd5bff88a484d22338b60b271bdbeabcf455"

func signer(t testing.TB, seed byte) (*signature.Signer, signature.Keys) {
	t.Helper()
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
	s, err := signature.NewSigner(key)
	keys := signature.Keys{}
	if err != nil || keys.Add(key.Public().(ed25519.PublicKey)) != nil {
		t.Fatal(err)
	}
	return s, keys
}

func statement() signature.Statement {
	return signature.Statement{TapeID: "sha256:" + hash, Oracle: "sha256:" + strings.Repeat("1", 64), Evidence: []string{strings.Repeat("2", 64), strings.Repeat("3", 64)}}
}

// Every value of the statement is signed, by this key, for this purpose.
func TestASignatureHoldsForItsStatementAlone(t *testing.T) {
	s, keys := signer(t, 1)
	sig := s.Sign(statement())
	if !keys.Holds(sig, statement()) {
		t.Fatal("a signature does not hold")
	}
	for name, change := range map[string]func(*signature.Statement){
		"tape":                   func(s *signature.Statement) { s.TapeID = "sha256:" + strings.Repeat("4", 64) },
		"oracle":                 func(s *signature.Statement) { s.Oracle = s.TapeID },
		"no oracle":              func(s *signature.Statement) { s.Oracle = "" },
		"evidence":               func(s *signature.Statement) { s.Evidence[1] = strings.Repeat("4", 64) },
		"less evidence":          func(s *signature.Statement) { s.Evidence = s.Evidence[:1] },
		"more evidence":          func(s *signature.Statement) { s.Evidence = append(s.Evidence, strings.Repeat("4", 64)) },
		"evidence as the oracle": func(s *signature.Statement) { s.Oracle += "\nevidence 2" },
	} {
		of := statement()
		change(&of)
		if keys.Holds(sig, of) {
			t.Errorf("%s: the signature of another statement holds", name)
		}
	}
	_, others := signer(t, 2)
	if others.Holds(sig, statement()) {
		t.Error("it holds by a key that did not sign")
	}
	// A signature over the same lines for another purpose of the key.
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	other := signature.Signature{KeyID: s.KeyID()}
	copy(other.Value[:], ed25519.Sign(key, []byte("tape sha256:"+hash+"\noracle none\nevidence 0\n")))
	if keys.Holds(other, signature.Statement{TapeID: "sha256:" + hash}) {
		t.Error("a signature without the domain holds")
	}
}

func TestBothFormsAreReadAsTheyWereWritten(t *testing.T) {
	s, _ := signer(t, 1)
	sig := s.Sign(statement())
	if got, err := signature.Parse(sig.String()); err != nil || got != sig {
		t.Errorf("%v, %v", got, err)
	}
	got, of, err := signature.ParseFile(sig.File(statement()))
	if err != nil || got != sig || !of.Equal(statement()) {
		t.Errorf("%v, %v, %v", got, of, err)
	}
	if id, ok := signature.KeyOf(signature.FileName(s.KeyID())); !ok || id != s.KeyID() {
		t.Errorf("the file is that of key %s", id)
	}
	text := string(sig.File(statement()))
	for _, bad := range []string{
		"", "{}", "[]", strings.Replace(text, `"1"`, `"2"`, 1), strings.Replace(text, "{", `{"x":1,`, 1), text + " ", strings.Replace(text, ":", ": ", 1),
		strings.Replace(text, hash, "no digest", 1), strings.Replace(text, strings.Repeat("2", 64), strings.Repeat("9", 64), 1),
	} {
		if _, _, err := signature.ParseFile([]byte(bad)); err == nil {
			t.Errorf("%.60q is read as a signature", bad)
		}
	}
	for _, name := range []string{"signature-.json", "signature-0123456789abcdeg.json", "signature-0123456789abcdef.jsonx", "oracle.json"} {
		if _, ok := signature.KeyOf(name); ok {
			t.Errorf("%s is taken for a signature", name)
		}
	}
}

func pemFile(t *testing.T, name, kind string, der []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestKeysAreThoseOfOpenssl(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		if os.Getenv("TAPEDECK_REQUIRE_SERVICES") == "1" {
			t.Fatal(err)
		}
		t.Skip("that keys of openssl are read was not tried: ", err)
	}
	dir := t.TempDir()
	private, public := filepath.Join(dir, "key.pem"), filepath.Join(dir, "pub.pem")
	run := func(args ...string) []byte {
		out, err := exec.Command(openssl, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("openssl %v: %v\n%s", args, err, out)
		}
		return out
	}
	run("genpkey", "-algorithm", "ed25519", "-out", private)
	run("pkey", "-in", private, "-pubout", "-out", public)
	s, err := signature.ReadSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	if s.Concern() != "" {
		t.Errorf("a key of openssl: %s", s.Concern())
	}
	for mode, want := range map[os.FileMode]string{0o640: "is open to its group", 0o644: "can be read by everybody", 0o666: "can be written by everybody"} {
		if err := os.Chmod(private, mode); err != nil {
			t.Fatal(err)
		}
		said, err := signature.ReadSigner(private)
		if err == nil && !strings.Contains(said.Concern(), want) || err != nil && !strings.Contains(err.Error(), want) || (err != nil) != (mode == 0o666) {
			t.Errorf("%04o: %v", mode, err)
		}
	}
	if err := os.Chmod(private, 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := signature.ReadKeys(public)
	if err != nil || !keys.Holds(s.Sign(statement()), statement()) {
		t.Fatalf("%v: what openssl says is the public half does not verify", err)
	}
	der := filepath.Join(dir, "pub.der")
	run("pkey", "-in", private, "-pubout", "-outform", "DER", "-out", der)
	if sum := string(run("dgst", "-sha256", der)); !strings.Contains(sum, "= "+s.KeyID()) {
		t.Errorf("the key id %s is not the beginning of %s", s.KeyID(), sum)
	}
}

func TestOtherKeysAreRefusedWithoutAWordOfThem(t *testing.T) {
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	pkix, err := x509.MarshalPKIXPublicKey(private.Public())
	if err != nil {
		t.Fatal(err)
	}
	signing, verifying := pemFile(t, "key.pem", "PRIVATE KEY", pkcs8), pemFile(t, "pub.pem", "PUBLIC KEY", pkix)
	if s, err := signature.ReadSigner(""); s != nil || err != nil {
		t.Errorf("no path: %v, %v", s, err)
	}
	for _, path := range []string{verifying, pemFile(t, "x", "ENCRYPTED PRIVATE KEY", pkcs8), pemFile(t, "y", "PRIVATE KEY", pkix), t.TempDir(), "/nowhere"} {
		if _, err := signature.ReadSigner(path); err == nil || strings.Contains(err.Error(), "\a\a\a\a") {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{signing, pemFile(t, "y", "PUBLIC KEY", pkcs8), "/nowhere"} {
		if _, err := signature.ReadKeys(path); err == nil {
			t.Errorf("%s: no error", path)
		}
	}
	both := filepath.Join(t.TempDir(), "both.pem")
	one, _ := os.ReadFile(verifying)
	other, _ := signer(t, 9)
	_, otherKeys := signer(t, 9)
	der, _ := x509.MarshalPKIXPublicKey(otherKeys[other.KeyID()])
	if err := os.WriteFile(both, append(one, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})...), 0o600); err != nil {
		t.Fatal(err)
	}
	if keys, err := signature.ReadKeys(both); err != nil || len(keys) != 2 {
		t.Errorf("a file of two keys: %d, %v", len(keys), err)
	}
}

func FuzzParseFile(f *testing.F) {
	s, _ := signer(f, 1)
	f.Add(s.Sign(statement()).File(statement()))
	f.Add([]byte(`{"kind":"tape-signature","version":"1","evidence":[]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		sig, of, err := signature.ParseFile(body)
		if err == nil && !bytes.Equal(sig.File(of), body) {
			t.Error("a file is read that is not as it would be written")
		}
	})
}

func FuzzParse(f *testing.F) {
	s, _ := signer(f, 1)
	f.Add(s.Sign(statement()).String())
	f.Fuzz(func(t *testing.T, text string) {
		if sig, err := signature.Parse(text); err == nil && sig.String() != text {
			t.Error("a text is read that is not as it would be written")
		}
	})
}
