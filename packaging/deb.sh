#!/bin/bash
# Builds a Debian package of a staged release: bash packaging/deb.sh STAGE VERSION TARGET OUT
#
# dpkg-deb alone, since cargo-deb would build and strip again. The program is static, so the package has no dependencies.
set -euo pipefail
stage=$1 version=$2 target=$3 out=$4
cd "$(dirname "$0")/.."
case $target in
x86_64-*) arch=amd64 ;;
aarch64-*) arch=arm64 ;;
*) echo "error: no Debian architecture is known for $target" >&2 && exit 1 ;;
esac

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
# mktemp makes it private.
chmod 755 "$root"
install -Dm755 "$stage/perfconv" "$root/usr/bin/perfconv"
# An alternative installs the link /usr/bin/perf_to_profile, with its page.
install -d "$root/usr/lib/perfconv"
ln -s ../../bin/perfconv "$root/usr/lib/perfconv/perf_to_profile"
for page in "$stage"/man/perfconv*.1.gz; do
    install -Dm644 "$page" "$root/usr/share/man/man1/${page##*/}"
done
install -Dm644 "$stage/man/perf_to_profile.1.gz" "$root/usr/lib/perfconv/perf_to_profile.1.gz"
install -Dm644 "$stage/completions/perfconv.bash" "$root/usr/share/bash-completion/completions/perfconv"
install -Dm644 "$stage/completions/_perfconv" "$root/usr/share/zsh/vendor-completions/_perfconv"
install -Dm644 "$stage/completions/perfconv.fish" "$root/usr/share/fish/vendor_completions.d/perfconv.fish"
doc=$root/usr/share/doc/perfconv
install -Dm644 packaging/copyright "$doc/copyright"
install -Dm644 "$stage/completions/perfconv.nu" "$doc/perfconv.nu"
install -Dm644 "$stage/perfconv.cdx.json" "$doc/perfconv.cdx.json"
for file in README.md CHANGELOG.md THIRD-PARTY-NOTICES.txt; do
    gzip -9n <"$stage/$file" | install -Dm644 /dev/stdin "$doc/$file.gz"
done
maintainer=${PACKAGE_MAINTAINER:-The perfconv developers <root@localhost>}
gzip -9n <<CHANGELOG | install -Dm644 /dev/stdin "$doc/changelog.gz"
perfconv ($version) unstable; urgency=medium

  * /usr/share/doc/perfconv/CHANGELOG.md.gz lists the changes.

 -- $maintainer  $(date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH")
CHANGELOG

mkdir "$root/DEBIAN"
cat >"$root/DEBIAN/control" <<CONTROL
Package: perfconv
Version: $version
Architecture: $arch
Maintainer: $maintainer
Installed-Size: $(du -sk --apparent-size --exclude=DEBIAN "$root" | cut -f 1)
Section: devel
Priority: optional
Suggests: linux-perf
Description: read, convert, rewrite and check perf.data recordings
 perfconv converts recordings of perf record to pprof, flame graphs, folded
 stacks, JSON, the Firefox Profiler, speedscope, Perfetto, OpenTelemetry and
 other formats, with functions, inlined functions and source lines. It filters,
 merges, splits, anonymizes, repairs and checks recordings, and reports what it
 kept and dropped.
CONTROL
cat >"$root/DEBIAN/postinst" <<'SCRIPT'
#!/bin/sh
set -e
if [ "$1" = configure ]; then
    update-alternatives --install /usr/bin/perf_to_profile perf_to_profile /usr/lib/perfconv/perf_to_profile 50 \
        --slave /usr/share/man/man1/perf_to_profile.1.gz perf_to_profile.1.gz /usr/lib/perfconv/perf_to_profile.1.gz
fi
SCRIPT
cat >"$root/DEBIAN/prerm" <<'SCRIPT'
#!/bin/sh
set -e
if [ "$1" = remove ] || [ "$1" = deconfigure ]; then
    update-alternatives --remove perf_to_profile /usr/lib/perfconv/perf_to_profile
fi
SCRIPT
chmod 755 "$root/DEBIAN/postinst" "$root/DEBIAN/prerm"
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
find "$root" -print0 | xargs -0 touch --no-dereference --date="@$SOURCE_DATE_EPOCH"
dpkg-deb --root-owner-group -Zxz --build "$root" "$out/perfconv_${version}_$arch.deb" >/dev/null
