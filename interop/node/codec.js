// What a Node program needs to read and write the envelopes of Go's codecs.
// docs/changing-payloads.md shows the same.
'use strict';

const { createCipheriv, createDecipheriv, randomBytes } = require('node:crypto');
const { gunzipSync, gzipSync } = require('node:zlib');

// open is the JSON value in an envelope, or what it is given if that is none.
// bound is "data:<queue>:<name>" for a job's data, "result:<queue>:" for results.
function open(value, keys, bound) {
  if (value && value.$gzip) return open(JSON.parse(gunzipSync(Buffer.from(value.$gzip, 'base64'))), keys, bound);
  if (!value || !value.$aesgcm) return value;
  const { kid, iv, data, tag } = value.$aesgcm;
  const secret = Buffer.from(keys[kid], 'base64');
  const d = createDecipheriv(`aes-${secret.length * 8}-gcm`, secret, Buffer.from(iv, 'base64'));
  d.setAAD(Buffer.from(bound)).setAuthTag(Buffer.from(tag, 'base64'));
  return open(JSON.parse(Buffer.concat([d.update(data, 'base64'), d.final()])), keys, bound);
}

function gzip(value) {
  return { $gzip: gzipSync(JSON.stringify(value)).toString('base64') };
}

function encrypt(value, kid, keys, bound) {
  const secret = Buffer.from(keys[kid], 'base64');
  const iv = randomBytes(12);
  const c = createCipheriv(`aes-${secret.length * 8}-gcm`, secret, iv).setAAD(Buffer.from(bound));
  const data = Buffer.concat([c.update(JSON.stringify(value)), c.final()]);
  const text = b => b.toString('base64');
  return { $aesgcm: { kid, iv: text(iv), data: text(data), tag: text(c.getAuthTag()) } };
}

module.exports = { open, gzip, encrypt };
