#!/bin/sh
# Writes the access list of a house from the roles beside this script.
#   sh make-acl.sh SITE ROLE:USER[:TABLE]... > /etc/mosquitto/acl
# ROLE is a file in roles/ (reader, board, surveillance, supervisor, desk, table-system, engineer), USER a name
# of the broker's password file, one for each client; a reader has its TABLE as well. For example
#   sh make-acl.sh lisboa reader:reader-7:7 board:board-7 surveillance:desk-1 supervisor:pit-1
set -eu
site=${1:?give SITE and then ROLE:USER[:TABLE]...}
shift
level='^[A-Za-z0-9._-]{1,64}$'
echo "$site" | grep -Eq "$level" || { echo "$0: SITE '$site' cannot stand in a topic" >&2; exit 2; }
cd "$(dirname "$0")/roles"
for entry in "$@"; do
    role=${entry%%:*}
    rest=${entry#*:}
    user=${rest%%:*}
    table=$(echo "$rest:" | cut -d: -f2)
    [ -f "$role.acl" ] || { echo "$0: there is no role '$role'" >&2; exit 2; }
    echo "$user" | grep -Eq "$level" || { echo "$0: '$entry': USER is no name" >&2; exit 2; }
    if grep -q /TABLE/ "$role.acl" && ! echo "$table" | grep -Eq "$level"; then
        echo "$0: '$entry': name the table, as $role:$user:7" >&2
        exit 2
    fi
    sed -e "s/USER/$user/" -e "s/SITE/$site/" -e "s/TABLE/$table/" "$role.acl"
    echo
done
