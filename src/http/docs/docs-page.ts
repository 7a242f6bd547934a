/**
 * The page that shows the interface to people: one file, made once, with nothing fetched but the
 * OpenAPI document. Its own script and style are allowed by their hashes, and nothing else is.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

function part(name: string): string {
  return readFileSync(new URL(name, import.meta.url), 'utf8')
}

/** The policy lets no other script in, so what are modules here becomes one. */
function inlined(name: string): string {
  return part(name)
    .replaceAll(/^import [^']* from '[^']*'\n/gm, '')
    .replaceAll(/^export /gm, '')
}

function allowed(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}

const style = ['page.css', 'operation.css'].map(part).join('\n')
const script = ['elements.js', 'schema.js', 'operation.js', 'page.js'].map(inlined).join('\n')

export const docsPage = {
  script,
  // Replaced by functions: in a plain replacement text `$&` has a meaning.
  html: part('page.html')
    .replace('<style>', () => `<style>${style}`)
    .replace('<script type="module">', (tag) => tag + script),
  contentSecurityPolicy: [
    "default-src 'none'",
    `script-src ${allowed(script)}`,
    `style-src ${allowed(style)}`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
} as const
