/** Starts one cluster for the whole test run and passes its address to every test file. */
import type { TestProject } from 'vitest/node'
import { startCluster } from './cluster.ts'
import { makeMigratedTemplate } from './migrated-template.ts'

declare module 'vitest' {
  interface ProvidedContext {
    readonly postgresUrl: string
    readonly migratedTemplate: string
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const cluster = await startCluster()
  project.provide('postgresUrl', cluster.url)
  project.provide('migratedTemplate', await makeMigratedTemplate(cluster.url))
  return () => cluster.stop()
}
