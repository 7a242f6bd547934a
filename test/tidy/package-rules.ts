/**
 * Rules about package.json and its lock file.
 */
import type { Finding } from './source.ts'

type ExportTarget = string | null | { readonly [condition: string]: ExportTarget }

export interface PackageEntries {
  readonly exports?: ExportTarget
  readonly bin?: ExportTarget
}

export function missingEntries(
  entries: PackageEntries,
  exists: (path: string) => boolean,
): Finding[] {
  return [...targetsOf(entries.exports ?? null), ...targetsOf(entries.bin ?? null)]
    .filter((target) => !exists(sourceFileOf(target)))
    .map((target) => `package.json names ${target}, which does not exist; write it or remove it`)
}

/** Built files are missing in a clone; then their source must exist. */
function sourceFileOf(target: string): string {
  return target.replace(/^\.\/dist\/(.+?)(\.d\.ts|\.js)$/, './src/$1.ts')
}

function targetsOf(target: ExportTarget): string[] {
  if (target === null) return []
  return typeof target === 'string' ? [target] : Object.values(target).flatMap(targetsOf)
}

/** The lock file must work with any registry. */
export function resolvedAddresses(lockText: string): Finding[] {
  return lockText.split('\n').flatMap((line, index) => {
    // A package in this repository is named by its path, which is not an address.
    if (!/^\s*"resolved": "[a-z+]+:/.test(line)) return []
    const remedy = 'run npm with --omit-lockfile-registry-resolved'
    return [`package-lock.json:${index + 1} names a registry's address; ${remedy}`]
  })
}

interface LockedPackage {
  readonly integrity?: string
  readonly hasInstallScript?: boolean
  readonly link?: boolean
}

/**
 * Only locked packages are installed: each has its checksum, and none may run a program during its
 * installation, which could fetch anything.
 */
export function looseEnds(lockText: string): Finding[] {
  const { packages } = JSON.parse(lockText) as { packages: Record<string, LockedPackage> }
  return Object.entries(packages).flatMap(([path, { integrity, hasInstallScript, link }]) => {
    if (!path.startsWith('node_modules/') || link === true) return []
    const findings: Finding[] = []
    if (integrity === undefined) {
      findings.push(`package-lock.json: ${path} has no integrity; run npm install again`)
    }
    if (hasInstallScript === true) {
      const remedy = 'use one that needs none, or do without it'
      findings.push(`package-lock.json: ${path} has an install script; ${remedy}`)
    }
    return findings
  })
}
