// Reads one packet of posviz/ui/live/packet.py. Long arrays and texts carry an id; `store` keeps
// those that are still shown, so that Python need not send them twice.

export function readHeader(bytes) {
  const copy = bytes.slice(); // float32 views need an offset that is a multiple of 4
  const view = new DataView(copy.buffer);
  const length = view.getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(copy.subarray(4, 4 + length)));
  const start = 4 + length + ((4 - (length % 4)) % 4);
  return { header, buffer: copy.buffer, start };
}

// Replaces every stand-in below `node`; collects the ids in use and counts references not held.
export function revive(node, packet, store, used) {
  if (node === null || typeof node !== 'object') return node;
  if (Array.isArray(node)) {
    for (let i = 0; i < node.length; i++) node[i] = revive(node[i], packet, store, used);
    return node;
  }
  if (typeof node.ref === 'string') {
    used.ids.add(node.ref);
    if (!store.has(node.ref)) { used.missing++; return null; }
    return store.get(node.ref);
  }
  const value = standIn(node, packet);
  if (value !== undefined) {
    if (node.id) { used.ids.add(node.id); store.set(node.id, value); }
    return value;
  }
  for (const key of Object.keys(node)) node[key] = revive(node[key], packet, store, used);
  return node;
}

function standIn(node, packet) {
  if (typeof node.s === 'string' && typeof node.id === 'string') return node.s;
  if (node.heat) {
    const [offset, size, rows, columns] = node.heat;
    return { rows, columns, packed: new Uint8Array(packet.buffer, packet.start + offset, size) };
  }
  const type = node.f32 ? Float32Array : node.i32 ? Int32Array : null;
  if (!type) return undefined;
  const [offset, count] = node.f32 || node.i32;
  const flat = new type(packet.buffer, packet.start + offset, count);
  return node.shape ? nested(flat, node.shape) : flat;
}

function nested(flat, shape) {
  if (shape.length === 0) return flat[0];
  if (shape.length === 1) return flat;
  const size = shape.slice(1).reduce((a, b) => a * b, 1);
  return Array.from({ length: shape[0] }, (_, i) =>
    nested(flat.subarray(i * size, (i + 1) * size), shape.slice(1)));
}
