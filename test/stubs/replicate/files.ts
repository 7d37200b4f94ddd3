/** Files of the service: files.create, files.list, files.get, files.delete of its OpenAPI description. */
import type { IncomingMessage } from 'node:http';

export interface StubFile {
  id: string;
  name: string;
  contentType: string;
  bytes: Buffer;
}

interface Answer {
  status: number;
  body: unknown;
}

const NOT_FOUND: Answer = { status: 404, body: { detail: 'File not found' } };

export function createStubFiles(stub: { baseUrl: string; files: StubFile[] }) {
  const shown = (file: StubFile) => ({
    id: file.id,
    name: file.name,
    content_type: file.contentType,
    size: file.bytes.length,
    etag: '',
    checksums: { sha256: '' },
    metadata: {},
    created_at: '2025-11-20T10:00:00.000Z',
    expires_at: '2025-11-21T10:00:00.000Z',
    urls: { get: `${stub.baseUrl}/v1/files/${file.id}` },
  });

  async function create(headers: IncomingMessage['headers'], body: Buffer<ArrayBuffer>): Promise<Answer> {
    const form = await new Response(body, { headers: { 'content-type': headers['content-type'] ?? '' } })
      .formData()
      .catch(() => new FormData());
    const content = form.get('content');
    if (!(content instanceof File) || content.name === '') {
      return { status: 400, body: { detail: 'Missing content' } };
    }
    const file = {
      id: `f${stub.files.length + 1}`,
      name: content.name,
      contentType: content.type || 'application/octet-stream',
      bytes: Buffer.from(await content.arrayBuffer()),
    };
    stub.files.push(file);
    return { status: 201, body: shown(file) };
  }

  return {
    async operate(call: {
      what: string;
      headers: IncomingMessage['headers'];
      body: Buffer<ArrayBuffer>;
    }): Promise<Answer> {
      if (call.what === 'POST /v1/files') return await create(call.headers, call.body);
      if (call.what === 'GET /v1/files') return { status: 200, body: { results: stub.files.map(shown) } };
      const id = /^(?:GET|DELETE) \/v1\/files\/([^/]+)$/.exec(call.what)?.[1];
      const index = stub.files.findIndex((file) => file.id === id);
      const found = stub.files[index];
      if (!found) return NOT_FOUND;
      if (call.what.startsWith('GET ')) return { status: 200, body: shown(found) };
      stub.files.splice(index, 1);
      return { status: 204, body: '' };
    },
  };
}
