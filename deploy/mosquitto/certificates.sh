#!/bin/sh
# Makes an authority of your own and a certificate for the broker, for a house without a PKI.
#   sh certificates.sh FOLDER NAME...      NAME: each host name or address that clients will use
# FOLDER then holds ca.crt (give it to every client), ca.key (lock it away), server.crt, server.key.
set -eu
umask 077
folder=$1
shift
names=""
for name in "$@"; do
    case $name in
        *[!0-9.]*) names="$names,DNS:$name" ;;
        *) names="$names,IP:$name" ;;
    esac
done
mkdir -p "$folder"
cd "$folder"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 \
    -subj "/CN=Shoe Reader house authority" -keyout ca.key -out ca.crt
openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
    -subj "/CN=$1" -keyout server.key -out server.csr
printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth\n' "${names#,}" > server.ext
openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 825 \
    -extfile server.ext -out server.crt
rm server.csr server.ext
