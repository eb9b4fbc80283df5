#!/bin/sh
# Makes an authority of your own, a certificate for the broker, and certificates for clients, for a
# house without a PKI.
#   sh certificates.sh AUTHORITY BROKER NAME...          NAME: each host name or address of the broker
#   sh certificates.sh AUTHORITY BROKER --client NAME... NAME: a user of the access list, as reader-7
#   sh certificates.sh AUTHORITY BROKER --revoke NAME... those clients' certificates count no more
#   sh certificates.sh AUTHORITY BROKER --renew          the list of what is revoked, before it expires
# AUTHORITY is a folder that no broker reads, best on a machine of its own or a stick: ca.key, the
# list of certificates issued, and for each client NAME.crt and NAME.key, to be taken to that client.
# BROKER is what the broker needs and no more: ca.crt (give it to every client), server.crt,
# server.key, and revoked.crl, which mosquitto reads when it starts (restart it after --revoke).
set -eu
umask 077
authority=$1
broker=$2
shift 2
mkdir -p "$authority" "$broker"
authority=$(cd "$authority" && pwd)
broker=$(cd "$broker" && pwd)
[ "$authority" != "$broker" ] || { echo "$0: give two folders: the broker must not have ca.key" >&2; exit 2; }
cd "$authority"

DAYS=825      # of a certificate: the longest that all programs take
LIST_DAYS=400 # of the list of what is revoked: a broker refuses every client once it has expired

write_settings() {
    cat > ca.conf <<EOF
[ca]
default_ca = house
[house]
database = issued
serial = serial
crlnumber = crlnumber
new_certs_dir = .
certificate = ca.crt
private_key = ca.key
default_md = sha256
default_days = $DAYS
default_crl_days = $LIST_DAYS
unique_subject = no
policy = any
[any]
commonName = supplied
EOF
}

list_revoked() {
    openssl ca -config ca.conf -gencrl -out revoked.crl
    cp revoked.crl "$broker/revoked.crl"
    chmod 644 "$broker/revoked.crl"
}

issue() { # NAME FILE EXTENSIONS: a new key and its certificate
    printf '%s\n' "$3" > "$2.ext"
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
        -subj "/CN=$1" -keyout "$2.key" -out "$2.csr"
    openssl ca -config ca.conf -batch -notext -rand_serial -in "$2.csr" -extfile "$2.ext" -out "$2.crt"
    rm "$2.csr" "$2.ext"
}

case $1 in
--client)
    shift
    for name in "$@"; do
        issue "$name" "$name" "extendedKeyUsage=clientAuth"
    done
    ;;
--revoke)
    shift
    for name in "$@"; do
        openssl ca -config ca.conf -revoke "$name.crt"
    done
    list_revoked
    ;;
--renew) list_revoked ;;
*)
    names=""
    for name in "$@"; do
        case $name in
            *[!0-9.]*) names="$names,DNS:$name" ;;
            *) names="$names,IP:$name" ;;
        esac
    done
    write_settings
    : > issued
    echo 01 > crlnumber
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 \
        -subj "/CN=Shoe Reader house authority" -keyout ca.key -out ca.crt
    issue "$1" server "subjectAltName=${names#,}
extendedKeyUsage=serverAuth"
    cp ca.crt server.crt "$broker/"
    mv server.key "$broker/"
    list_revoked
    ;;
esac
