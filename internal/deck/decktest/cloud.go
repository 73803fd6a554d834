// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decktest

import (
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
)

// GCS starts a fake-gcs-server. The test must import deck/store/gcs.
func GCS(t testing.TB) Service {
	t.Helper()
	path := Program(t, "TAPEDECK_TEST_FAKE_GCS", "fake-gcs-server", "go install github.com/fsouza/fake-gcs-server@v1.56.1")
	endpoint := start(t, func(port int) *exec.Cmd {
		address := "127.0.0.1:" + strconv.Itoa(port)
		return exec.Command(path, "-scheme", "http", "-host", "127.0.0.1", "-port", strconv.Itoa(port),
			"-backend", "memory", "-public-host", address, "-external-url", "http://"+address, "-log-level", "error")
	}, "/_internal/healthcheck")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint+"/storage/v1/b?project=test",
		strings.NewReader(`{"name":"`+bucket+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("make a bucket: %v", err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("make a bucket: %s", resp.Status)
	}
	return newService(t, endpoint, "gs://"+bucket+"/"+deckInner+"?anonymous=true",
		"STORAGE_EMULATOR_HOST="+strings.TrimPrefix(endpoint, "http://"))
}

// The account that every Azurite has; it is public.
const (
	azuriteAccount = "devstoreaccount1"
	azuriteKey     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

// Azurite starts an Azurite blob server. The test must import
// deck/store/azure.
func Azurite(t testing.TB) Service {
	t.Helper()
	path := Program(t, "TAPEDECK_TEST_AZURITE", "azurite-blob", "npm install azurite@3.37.0")
	folder := dataFolder(t)
	endpoint := start(t, func(port int) *exec.Cmd {
		cmd := exec.Command(path, "--blobHost", "127.0.0.1", "--blobPort", strconv.Itoa(port), "--location", folder,
			"--silent", "--skipApiVersionCheck", "--disableTelemetry")
		cmd.Env = os.Environ()
		return cmd
	}, "/")
	cred, err := azblob.NewSharedKeyCredential(azuriteAccount, azuriteKey)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	opts := &azblob.ClientOptions{}
	opts.Transport = &http.Client{Transport: transport}
	client, err := azblob.NewClientWithSharedKeyCredential(endpoint+"/"+azuriteAccount, cred, opts)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CreateContainer(t.Context(), bucket, nil); err != nil {
		t.Fatalf("make a container: %v", err)
	}
	address := strings.TrimPrefix(endpoint, "http://")
	return newService(t, endpoint, "azblob://"+bucket+"/"+deckInner+"?protocol=http&localemu=true&domain="+address,
		"AZURE_STORAGE_ACCOUNT="+azuriteAccount, "AZURE_STORAGE_KEY="+azuriteKey)
}
