#!/bin/sh
# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
# run.sh PROFILE[,-Dproperty=value] CLASS ARGUMENT...: compiles CLASS.java with what the profile of pom.xml brings, and runs it.
set -e
here=$(dirname "$0"); out=${OUT:-/tmp/drivers-java}/$1; profile=${1%%,*}; more=$(printf %s "$1" | tr , '\n' | sed -n '2,$p'); class=$2; shift 2
mkdir -p "$out"
[ -s "$out/classpath" ] || mvn -q -B -f "$here/pom.xml" "-P$profile" $more org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath "-Dmdep.outputFile=$out/classpath"
javac -Xlint:none -nowarn -parameters -d "$out/classes" -cp "$(cat "$out/classpath")" -sourcepath "$here" "$here/$class.java"
exec java $JAVA_OPTS -cp "$out/classes:$(cat "$out/classpath")" "$class" "$@"
