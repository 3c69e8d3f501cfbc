/* Called through the procedure linkage table. */
long step(long value) {
    return value * 5 + 1;
}
