// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decktest

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

const (
	bucket    = "tapedeck-test"
	s3User    = "tapedeck"
	s3Secret  = "tapedeck-test-only"
	s3Region  = "us-east-1"
	deckInner = "decks/one" // decks lie below a prefix, as they do in life
)

// VersityGW starts a versitygw server (S3 API on a folder).
func VersityGW(t testing.TB) Service {
	t.Helper()
	path := Program(t, "TAPEDECK_TEST_VERSITYGW", "versitygw", "go install github.com/versity/versitygw/cmd/versitygw@v1.8.0")
	folder := dataFolder(t)
	// Metadata beside the objects: not every file system has user attributes.
	sidecar := dataFolder(t)
	endpoint := start(t, func(port int) *exec.Cmd {
		cmd := exec.Command(path, "--port", "127.0.0.1:"+strconv.Itoa(port), "--region", s3Region,
			"posix", "--sidecar", sidecar, folder)
		cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+s3User, "ROOT_SECRET_KEY="+s3Secret)
		return cmd
	}, "/")
	return s3Service(t, endpoint)
}

// MinIO starts a MinIO server.
func MinIO(t testing.TB) Service {
	t.Helper()
	path := Program(t, "TAPEDECK_TEST_MINIO", "minio", "go install github.com/minio/minio@latest")
	folder := dataFolder(t)
	endpoint := start(t, func(port int) *exec.Cmd {
		cmd := exec.Command(path, "server", "--quiet", "--address", "127.0.0.1:"+strconv.Itoa(port), folder)
		cmd.Env = append(os.Environ(), "MINIO_ROOT_USER="+s3User, "MINIO_ROOT_PASSWORD="+s3Secret,
			"MINIO_BROWSER=off", "MINIO_UPDATE=off", "MINIO_CI_CD=1", "HOME="+folder)
		return cmd
	}, "/minio/health/cluster")
	return s3Service(t, endpoint)
}

// S3 starts the S3 server that is installed: versitygw, else MinIO.
func S3(t testing.TB) Service {
	t.Helper()
	if os.Getenv("TAPEDECK_TEST_VERSITYGW") == "" && os.Getenv("TAPEDECK_TEST_MINIO") != "" {
		return MinIO(t)
	}
	return VersityGW(t)
}

func s3Service(t testing.TB, endpoint string) Service {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	client, err := minio.New(strings.TrimPrefix(endpoint, "http://"), &minio.Options{
		Creds:     credentials.NewStaticV4(s3User, s3Secret, ""),
		Region:    s3Region,
		Transport: transport,
	})
	if err != nil {
		t.Fatal(err)
	}
	// A server can answer before its storage is ready; minio-go tries again.
	if err := client.MakeBucket(t.Context(), bucket, minio.MakeBucketOptions{Region: s3Region}); err != nil {
		t.Fatalf("make a bucket: %v", err)
	}
	return newService(t, endpoint,
		"s3://"+bucket+"/"+deckInner+"?endpoint="+endpoint+"&region="+s3Region+"&use_path_style=true",
		"AWS_ACCESS_KEY_ID="+s3User, "AWS_SECRET_ACCESS_KEY="+s3Secret, "AWS_SESSION_TOKEN=")
}

// dataFolder is a folder for a server, which may still write when it is killed.
func dataFolder(t testing.TB) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "tapedeck-"+strings.ReplaceAll(filepath.Base(t.Name()), string(filepath.Separator), "_"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Logf("remove the data of a server: %v", err)
		}
	})
	return folder
}
