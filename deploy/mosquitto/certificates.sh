#!/bin/sh
# Makes an authority of your own, a certificate for the broker, and certificates for clients, for a
# house without a PKI.
#   sh certificates.sh FOLDER NAME...            NAME: each host name or address of the broker
#   sh certificates.sh FOLDER --client NAME...   NAME: a user of the access list, as reader-7
# FOLDER then holds ca.crt (give it to every client), ca.key (lock it away), server.crt, server.key, and for
# each client NAME.crt and NAME.key.
set -eu
umask 077
folder=$1
shift
mkdir -p "$folder"
cd "$folder"

request() { # NAME FILE: a new key and a request for a certificate
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
        -subj "/CN=$1" -keyout "$2.key" -out "$2.csr"
}

sign() { # FILE: the certificate asked for, with the extensions in FILE.ext
    openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 825 \
        -extfile "$1.ext" -out "$1.crt"
    rm "$1.csr" "$1.ext"
}

if [ "$1" = --client ]; then
    shift
    for name in "$@"; do
        request "$name" "$name"
        printf 'extendedKeyUsage=clientAuth\n' > "$name.ext"
        sign "$name"
    done
    exit 0
fi

names=""
for name in "$@"; do
    case $name in
        *[!0-9.]*) names="$names,DNS:$name" ;;
        *) names="$names,IP:$name" ;;
    esac
done
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 \
    -subj "/CN=Shoe Reader house authority" -keyout ca.key -out ca.crt
request "$1" server
printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth\n' "${names#,}" > server.ext
sign server
